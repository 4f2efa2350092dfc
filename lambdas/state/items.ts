import { asArray, asRecord, asString, type Json } from '../protocols/bytes/json.ts';
import { suffixOf } from '../support/ids.ts';

const ID = /^resp_[0-9A-Za-z]{24}$/;

export const isResponseId = (text: string): boolean => ID.test(text);

/** Prefixes of the ids of items; others begin with `item`. */
const PREFIXES: Record<string, string> = {
  ...{ message: 'msg', reasoning: 'rs', function_call: 'fc', custom_tool_call: 'ctc' },
  ...{ function_call_output: 'fco', custom_tool_call_output: 'ctco' },
};

/** Ids of the vendor's that are not part of the conversation: a provider rejects those that it has not issued. */
const UNSENT = new Set(['message', 'reasoning', 'function_call', 'custom_tool_call']);

export const typeOf = ({ type }: Json): string => asString(type) ?? 'message';

/** An id from which the response of its item follows. `index`: of the output a number, of the input with an `i`. */
const idOf = (item: Json, suffix: string, index: string): string =>
  `${PREFIXES[typeOf(item)] ?? 'item'}_${suffix}${index}`;

const OF_ITEM = /^[a-z]+_([0-9A-Za-z]{24})i?\d+$/;

/** The response whose item has this id; undefined if the router did not issue it. */
export const responseOfItem = (id: string): string | undefined => {
  const [, suffix] = OF_ITEM.exec(id) ?? [];
  return suffix && `resp_${suffix}`;
};

/** The response's own id of an item of its output. */
export const outputId = (item: Json, responseId: string, index: number): string => {
  const id = asString(item.id) ?? '';
  return responseOfItem(id) === responseId ? id : idOf(item, responseId.slice(5), String(index));
};

export const isReference = (item: Json): boolean => item.type === 'item_reference';

const partsOf = ({ content, role }: Json): unknown => {
  if (typeof content !== 'string') return content;
  return role === 'assistant'
    ? [{ type: 'output_text', text: content, annotations: [] }]
    : [{ type: 'input_text', text: content }];
};

/** The items of a request's input, as clients read them later: each with an id, and messages with parts. */
export const inputItems = (input: unknown, requestId: string): Json[] =>
  listOf(input).map((item, index) => {
    if (isReference(item)) return item;
    const id = asString(item.id) ?? idOf(item, suffixOf(requestId), `i${index}`);
    if (typeOf(item) !== 'message') return { ...item, id };
    return { status: 'completed', ...item, id, type: 'message', content: partsOf(item) };
  });

/** The input as a list; a text is one message of the user. */
export const listOf = (input: unknown): Json[] =>
  typeof input === 'string'
    ? [{ type: 'message', role: 'user', content: input }]
    : asArray(input).map((item) => asRecord(item) ?? { type: 'invalid' });

export const objectsIn = (list: unknown): Json[] =>
  asArray(list)
    .map(asRecord)
    .filter((item) => item !== undefined);

export const sendable = (item: Json): Json => {
  if (!UNSENT.has(typeOf(item))) return item;
  const { id: _, status: __, ...rest } = item;
  return rest;
};
