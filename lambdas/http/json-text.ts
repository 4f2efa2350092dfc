import { endOfString } from '../protocols/json.ts';
import { invalidRequest } from '../support/errors.ts';

/** JSON.parse takes millions of levels, but code that walks the value afterwards overflows its stack. */
const MAX_DEPTH = 64;

/** Of one object. Checking and copying one takes some microseconds: 300,000 of them took seconds. */
const MAX_MEMBERS = 10_000;

/**
 * Of the whole body: 10,000 messages of two parts each have 90,000. Distinct keys cost the most; 100,000 of
 * them block the process for up to 150 ms, 2.6 million values did for a second.
 */
const MAX_VALUES = 100_000;

const createTally = () => {
  /** Members so far of each object that is open, by its level. */
  const members = new Uint16Array(MAX_DEPTH + 1);
  let depth = 0;
  let values = 0;
  return {
    /** Counts what a comma or an opening bracket announces: at least one value for each but empty brackets. */
    value() {
      values += 1;
      if (values > MAX_VALUES) {
        throw invalidRequest('The request body holds more than 100,000 values.');
      }
    },
    open() {
      if (++depth > MAX_DEPTH) {
        throw invalidRequest(`The request body is nested deeper than ${MAX_DEPTH} levels.`);
      }
      members[depth] = 0;
    },
    member() {
      const count = (members[depth] ?? 0) + 1;
      if (count > MAX_MEMBERS) {
        throw invalidRequest('The request body holds an object of more than 10,000 members.');
      }
      members[depth] = count;
    },
    close() {
      depth--;
    },
  };
};

/**
 * Bounds a JSON text before it is parsed: 64 levels, 10,000 members an object, 100,000
 * values in all. One pass without recursion. @throws ApiError 400
 */
const assertBounds = (text: string): void => {
  const tally = createTally();
  for (let index = 0; index < text.length; index++) {
    switch (text[index]) {
      case '"':
        index = endOfString(text, index + 1);
        break;
      case '{':
      case '[':
        tally.value();
        tally.open();
        break;
      case ',':
        tally.value();
        break;
      case ':':
        tally.member();
        break;
      case '}':
      case ']':
        tally.close();
        break;
      default:
    }
  }
};

const BACKSLASH = 0x5c;
const LOWER_CASE = 0x20;
const LETTER_U = 0x75;
const LETTER_C = 0x63;
const LETTER_D = 0x64;
const DIGIT_8 = 0x38;

/** Which half of a surrogate pair the escape at `index` of a valid JSON text is: `\ud8` to `\udb`, `\udc` to `\udf`. */
const halfAt = (text: string, index: number): 'high' | 'low' | undefined => {
  if (text.charCodeAt(index) !== BACKSLASH || text.charCodeAt(index + 1) !== LETTER_U)
    return undefined;
  if ((text.charCodeAt(index + 2) | LOWER_CASE) !== LETTER_D) return undefined;
  const digit = text.charCodeAt(index + 3) | LOWER_CASE;
  if (digit >= LETTER_C) return 'low';
  return digit >= DIGIT_8 ? 'high' : undefined;
};

const MAY_HOLD_SURROGATE = /\\ud[89a-f]/i;

/** Half a surrogate pair has no UTF-8 form: sent on, it would silently become another character. */
const hasLoneSurrogate = (text: string): boolean => {
  if (!MAY_HOLD_SURROGATE.test(text)) return false;
  for (let index = text.indexOf('\\'); index !== -1; index = text.indexOf('\\', index)) {
    const half = halfAt(text, index);
    if (half === 'low') return true;
    if (half === 'high') {
      if (halfAt(text, index + 6) !== 'low') return true;
      index += 12;
    } else index += 2;
  }
  return false;
};

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const MAY_SPELL_PROTO = /\\u00(?:5f|6f|7[024])/i;

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
  // As plain texts first: an expression takes 3 ms of CPU for 4.5 MB.
  const hasEscapes = text.includes('\\u');
  if (hasEscapes && hasLoneSurrogate(text)) {
    throw invalidRequest('The request body contains an unpaired UTF-16 surrogate.');
  }
  if (text.includes('__proto__') || (hasEscapes && MAY_SPELL_PROTO.test(text))) dropProto(parsed);
  return parsed;
};
