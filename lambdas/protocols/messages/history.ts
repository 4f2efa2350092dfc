import { mapOnce } from '../../support/memo.ts';
import { asArray, asRecord, asString, type Json } from '../bytes/json.ts';
import { isOwnToolId } from './ids.ts';

const TOOL_NAME = /^[a-zA-Z0-9_-]{1,128}$/;

/** Whether the vendor accepts the ids and the name of a call, or of a result. */
const isValid = (part: Json): boolean => {
  if (part.type === 'tool_result') return isOwnToolId(asString(part.tool_use_id) ?? '');
  if (part.type !== 'tool_use') return true;
  return isOwnToolId(asString(part.id) ?? '') && TOOL_NAME.test(asString(part.name) ?? '');
};

const isResult = (part: Json): boolean => part.type === 'tool_result';

/** The vendor rejects results behind other content. */
const hasLateResult = (parts: Json[]): boolean => {
  const first = parts.findIndex((part) => !isResult(part));
  return first >= 0 && first < parts.findLastIndex(isResult);
};

/** What decides on a message: whether the vendor accepts it alone, whether it has results, and the ids of its calls. */
const factsOf = mapOnce(({ role, content }: Json) => {
  const parts = asArray(content).map((part) => asRecord(part) ?? {});
  return {
    role,
    isAccepted: parts.every(isValid) && !hasLateResult(parts),
    hasResults: parts.some(isResult),
    ids: parts.flatMap((part) => (part.type === 'tool_use' ? [part.id] : [])),
  };
});

/**
 * Whether a vendor would reject the messages as they are: ids that other protocols or several models made, names that only
 * another protocol allows, results that are not first, also in a message of their own, a system prompt among the messages before
 * any other.
 */
export const needsRepair = (messages: Json[]): boolean => {
  const facts = factsOf(messages);
  const ids = facts.flatMap((message) => message.ids);
  return (
    facts[0]?.role === 'system' ||
    new Set(ids).size < ids.length ||
    facts.some(
      ({ role, isAccepted, hasResults }, index) =>
        !isAccepted || (hasResults && role === facts[index - 1]?.role),
    )
  );
};
