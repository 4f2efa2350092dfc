import { asRecord, endOfString, type JsonSource, type MemberSpan } from '../protocols/json.ts';
import { type ApiError, invalidRequest } from '../support/errors.ts';

export const invalidBody = (
  problem: string,
  options?: Parameters<typeof invalidRequest>[1],
): ApiError => invalidRequest(`The request body ${problem}`, options);

/** JSON.parse takes millions of levels, but code that walks the value afterwards overflows its stack. */
const MAX_DEPTH = 64;

/** Of one object. Checking and copying one takes some microseconds: 300,000 of them took seconds. */
const MAX_MEMBERS = 10_000;

/**
 * Of the whole body: 10,000 messages of two parts each have 90,000. Distinct keys cost the most; 100,000 of
 * them block the process for up to 150 ms, 2.6 million values did for a second.
 */
const MAX_VALUES = 100_000;

const assertAtMost = (limit: number, count: number, problem: string): void => {
  if (count > limit) throw invalidBody(problem);
};

/**
 * Bounds a JSON text before it is parsed: 64 levels, 10,000 members an object, 100,000
 * values in all. One pass without recursion. Returns where its large members are. @throws ApiError 400
 */
const assertBounds = (text: string): MemberSpan[] => {
  const spans: MemberSpan[] = [];
  /** Members so far of each object that is open, by its level. */
  const members = new Uint16Array(MAX_DEPTH + 1);
  let [depth, values, names, stringStart] = [0, 0, 0, 0];
  let member = { name: '', start: 0, names: 0 };
  for (let index = 0; index < text.length; index++) {
    switch (text[index]) {
      case '"':
        stringStart = index;
        index = endOfString(text, index + 1);
        break;
      // A comma or an opening bracket announces at least one value, unless the brackets are empty.
      case ',':
        values += 1;
        break;
      case '{':
      case '[':
        values += 1;
        depth += 1;
        assertAtMost(MAX_DEPTH, depth, 'is nested deeper than 64 levels.');
        members[depth] = 0;
        break;
      case ':': {
        names += 1;
        const count = (members[depth] ?? 0) + 1;
        assertAtMost(MAX_MEMBERS, count, 'holds an object of more than 10,000 members.');
        members[depth] = count;
        if (depth === 1) member = { name: text.slice(stringStart, index), start: index + 1, names };
        break;
      }
      case '}':
      case ']':
        depth -= 1;
        if (depth === 1) spans.push({ ...member, end: index + 1, names: names - member.names });
        break;
      default:
    }
    assertAtMost(MAX_VALUES, values, 'holds more than 100,000 values.');
  }
  return spans;
};

/** Escapes of half a surrogate pair, and of the letters of `__proto__`. */
const SUSPECT = /__proto__|\\ud[89a-f]|\\u00(?:5f|6f|7[024])/i;

/**
 * Half a surrogate pair has no UTF-8 form: sent on, it would silently become another character. `__proto__` is an
 * ordinary key to JSON.parse and a prototype to some of what runs later: it is removed. @throws ApiError 400
 */
const clean = (value: unknown): void => {
  if (typeof value === 'string' && !value.isWellFormed()) {
    throw invalidBody('contains an unpaired UTF-16 surrogate.');
  }
  if (typeof value !== 'object' || value === null) return;
  Reflect.deleteProperty(value, '__proto__');
  for (const member of Object.entries(value).flat()) clean(member);
};

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    // The engine's message quotes the input, which may be a prompt: it goes nowhere, not even as a cause.
    throw invalidBody('is not valid JSON.');
  }
};

/** @throws ApiError 400 unless `text` is one JSON object of at most 64 levels and 10,000 members in each. */
export const parseJsonObject = (text: string): Omit<JsonSource, 'bytes'> => {
  if (text.trim() === '') {
    throw invalidBody('is empty; a JSON object is expected.');
  }
  const spans = assertBounds(text);
  const value = parse(text);
  if (!asRecord(value)) throw invalidBody('must be a JSON object.');
  // As plain texts first: an expression takes 3 ms of CPU for 4.5 MB.
  const maySuspect = text.includes('\\u') || text.includes('__proto__');
  if (maySuspect && SUSPECT.test(text)) clean(value);
  return { text, value, spans };
};
