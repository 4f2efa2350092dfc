import { asArray, asRecord, asString, type Json } from '../bytes/json.ts';
import { isOwnToolId } from './ids.ts';

/** Tool calls whose names and ids the vendor accepts, each id once. */
const createCallCheck = () => {
  const ids = new Set<string>();
  return (part: Json): boolean => {
    if (part.type === 'tool_result') return isOwnToolId(asString(part.tool_use_id) ?? '');
    if (part.type !== 'tool_use') return true;
    const id = asString(part.id) ?? '';
    const isNew = !ids.has(id);
    ids.add(id);
    return isNew && isOwnToolId(id) && isToolName(asString(part.name) ?? '');
  };
};

const TOOL_NAME = /^[a-zA-Z0-9_-]{1,128}$/;
const isToolName = (name: string): boolean => TOOL_NAME.test(name);

const isResult = (part: Json): boolean => part.type === 'tool_result';

/** The vendor rejects results behind other content, also if they are in a message of their own. */
const hasLateResult = (parts: Json[], follows: boolean): boolean => {
  const first = parts.findIndex((part) => !isResult(part));
  const late = parts.findLastIndex(isResult);
  return late >= 0 && (follows || (first >= 0 && first < late));
};

/**
 * Whether a vendor would reject the messages as they are: ids that other protocols or several models made, names that only
 * another protocol allows, results that are not first, a system prompt among the messages before any other.
 */
export const needsRepair = (messages: Json[]): boolean => {
  const isValidCall = createCallCheck();
  let last: unknown;
  return messages.some(({ role, content }, index) => {
    if (index === 0 && role === 'system') return true;
    const parts = asArray(content).map((part) => asRecord(part) ?? {});
    const follows = role === last;
    last = role;
    return hasLateResult(parts, follows) || !parts.every(isValidCall);
  });
};
