import { invalidRequest } from '../support/errors.ts';
import { assertBounds } from './json-bounds.ts';

const isHigh = (unit: number) => unit >= 0xd800 && unit <= 0xdbff;
const isLow = (unit: number) => unit >= 0xdc00 && unit <= 0xdfff;
/** The UTF-16 unit of an escape `\uXXXX` at `at`, NaN where there is none. */
const unitAt = (text: string, at: number): number =>
  text.startsWith('\\u', at) ? Number.parseInt(text.slice(at + 2, at + 6), 16) : Number.NaN;

const MAY_HOLD_SURROGATE = /\\ud[89a-f]/i;

/** Half a surrogate pair has no UTF-8 form: sent on, it would silently become another character. */
const hasLoneSurrogate = (text: string): boolean => {
  if (!MAY_HOLD_SURROGATE.test(text)) return false;
  for (let at = text.indexOf('\\'); at !== -1; at = text.indexOf('\\', at)) {
    const unit = unitAt(text, at);
    if (isLow(unit)) return true;
    if (isHigh(unit)) {
      if (!isLow(unitAt(text, at + 6))) return true;
      at += 12;
    } else at += 2;
  }
  return false;
};

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const MAY_HOLD_PROTO = /__proto__|\\u005f/i;

/** `__proto__` is an ordinary key to JSON.parse and a prototype to some of what runs later. Changes `value`. */
const dropProto = (value: unknown): void => {
  if (!isObject(value) && !Array.isArray(value)) return;
  if (Object.hasOwn(value, '__proto__')) Reflect.deleteProperty(value, '__proto__');
  for (const member of Object.values(value)) dropProto(member);
};

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    // The engine's message quotes the input, which may be a prompt: it goes nowhere, not even as a cause.
    throw invalidRequest('The request body is not valid JSON.');
  }
};

/** @throws ApiError 400 unless `text` is one JSON object of at most 64 levels and 10,000 members in each. */
export const parseJsonObject = (text: string): Record<string, unknown> => {
  if (text.trim() === '') {
    throw invalidRequest('The request body is empty; a JSON object is expected.');
  }
  assertBounds(text);
  const parsed = parse(text);
  if (!isObject(parsed)) throw invalidRequest('The request body must be a JSON object.');
  if (hasLoneSurrogate(text)) {
    throw invalidRequest('The request body contains an unpaired UTF-16 surrogate.');
  }
  if (MAY_HOLD_PROTO.test(text)) dropProto(parsed);
  return parsed;
};
