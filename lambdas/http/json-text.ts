import {
  asRecord,
  endOfString,
  type Json,
  type JsonSource,
  LARGE_BODY,
  type MemberSpan,
} from '../protocols/bytes/json.ts';
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

const assertDepth = (depth: number): void => {
  if (depth > MAX_DEPTH) throw invalidBody('is nested deeper than 64 levels.');
};
const assertMembers = (count: number): void => {
  if (count > MAX_MEMBERS) throw invalidBody('holds an object of more than 10,000 members.');
};
const assertValues = (count: number): void => {
  if (count > MAX_VALUES) throw invalidBody('holds more than 100,000 values.');
};

/** Bounds a JSON text in one pass without recursion. Returns where its large members are. @throws ApiError 400 */
const assertTextBounds = (text: string): MemberSpan[] => {
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
        assertDepth(depth);
        members[depth] = 0;
        break;
      case ':': {
        names += 1;
        const count = (members[depth] ?? 0) + 1;
        assertMembers(count);
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
    assertValues(values);
  }
  return spans;
};

/** Half a surrogate pair has no UTF-8 form: sent on, it would silently become another character. */
const assertWellFormed = (text: string): void => {
  if (!text.isWellFormed()) throw invalidBody('contains an unpaired UTF-16 surrogate.');
};

/** A body as it is visited. Only an escape can write half a surrogate pair. */
type Visited = { values: number; hasEscapes: boolean };

/** Returns how many there are. `__proto__` is an ordinary key to JSON.parse and a prototype to some of what runs later: it is removed. */
const visitMembers = (object: Json, depth: number, visited: Visited): number => {
  let count = 0;
  for (const name in object) {
    count += 1;
    if (visited.hasEscapes) assertWellFormed(name);
    if (name === '__proto__') Reflect.deleteProperty(object, name);
    else visit(object[name], depth, visited);
  }
  assertMembers(count);
  return count;
};

const visitItems = (items: unknown[], depth: number, visited: Visited): number => {
  for (const item of items) visit(item, depth, visited);
  return items.length;
};

/** Bounds a parsed value at `depth`, and cleans it. @throws ApiError 400 */
const visit = (value: unknown, depth: number, visited: Visited): void => {
  if (visited.hasEscapes && typeof value === 'string') assertWellFormed(value);
  if (typeof value !== 'object' || value === null) return;
  assertDepth(depth);
  const count = Array.isArray(value)
    ? visitItems(value, depth + 1, visited)
    : visitMembers(value as Json, depth + 1, visited);
  visited.values += Math.max(count, 1);
  assertValues(visited.values);
};

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    // The engine's message quotes the input, which may be a prompt: it goes nowhere, not even as a cause.
    throw invalidBody('is not valid JSON.');
  }
};

/**
 * Of a large text the bounds are checked before it is parsed, which could take seconds; a smaller one is parsed within
 * milliseconds, and its value is read in a fifth of the time.
 * @throws ApiError 400 unless `text` is one JSON object of at most 64 levels, 10,000 members in each and 100,000 values
 */
export const parseJsonObject = (text: string, bytes: number): JsonSource => {
  if (text.trim() === '') {
    throw invalidBody('is empty; a JSON object is expected.');
  }
  const spans = bytes >= LARGE_BODY ? assertTextBounds(text) : [];
  const value = parse(text);
  if (!asRecord(value)) throw invalidBody('must be a JSON object.');
  visit(value, 1, { values: 0, hasEscapes: text.includes('\\u') });
  return { text, value, bytes, spans };
};
