import type { Call } from '../endpoints/endpoint.ts';
import { asArray, asRecord, type Json } from '../protocols/bytes/json.ts';
import { invalidRequest } from '../support/errors.ts';
import { typeOf } from './items.ts';

/**
 * What a read of stored items leaves out unless it asks for it, as OpenAI's: the type of an item and the way to a member, in a
 * message by the type of its part; and what the member then is.
 */
const INCLUDABLE: Record<string, unknown> = {
  'code_interpreter_call.outputs': null,
  'computer_call_output.output.image_url': null,
  'file_search_call.results': null,
  'message.input_image.image_url': null,
  'message.output_text.logprobs': [],
  'reasoning.encrypted_content': null,
  'web_search_call.action.sources': null,
  'web_search_call.results': null,
};

/** Names of members that a query asks for. @throws ApiError 400 with all names */
export const readInclude = ({ include, 'include[]': list = include }: Call['query']) => {
  const names = (list ?? '').split(',').filter((name) => name !== '');
  const unknown = names.find((name) => !Object.hasOwn(INCLUDABLE, name));
  if (unknown === undefined) return new Set(names);
  throw invalidRequest(`include: must be of ${Object.keys(INCLUDABLE).join(', ')}.`, {
    param: 'include',
  });
};

const isEmptied = (value: unknown): boolean =>
  value === null || (Array.isArray(value) && value.length === 0);

const replace = (value: Json, [name = '', ...rest]: string[], empty: unknown): Json => {
  const inner = asRecord(value[name]);
  if (rest.length > 0) {
    const shown = inner && replace(inner, rest, empty);
    return shown === inner ? value : { ...value, [name]: shown };
  }
  const isShown = Object.hasOwn(value, name) && !isEmptied(value[name]);
  return isShown ? { ...value, [name]: empty } : value;
};

const inParts = (item: Json, [type = '', ...path]: string[], empty: unknown): Json => {
  const parts = asArray(item.content);
  const content = parts.map((part) => {
    const record = asRecord(part);
    return record?.type === type ? replace(record, path, empty) : part;
  });
  return content.every((part, index) => part === parts[index]) ? item : { ...item, content };
};

/** An item as it is read. */
export const shownItem = (item: Json, asked: ReadonlySet<string>): Json => {
  let shown = item;
  for (const [name, empty] of Object.entries(INCLUDABLE)) {
    const [type = '', ...path] = name.split('.');
    if (type !== typeOf(item) || asked.has(name)) continue;
    shown = type === 'message' ? inParts(shown, path, empty) : replace(shown, path, empty);
  }
  return shown;
};
