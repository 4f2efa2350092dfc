import {
  asArray,
  asRecord,
  type Json,
  type JsonSource,
  withWrittenNumbers,
} from '../protocols/bytes/json.ts';
import {
  type Limits,
  NAME,
  type Nodes,
  namesIn,
  OPEN_OBJECT,
  type Outline,
  outlineOf,
  START,
} from '../protocols/bytes/outline.ts';
import { childrenOf } from '../protocols/bytes/splice.ts';
import { type Raw, textAt } from '../support/bytes.ts';
import { type ApiError, invalidRequest } from '../support/errors.ts';
import { type Bodies, type Known, type Prefix, prefixOf } from './body-cache.ts';

export const invalidBody = (
  problem: string,
  options?: Parameters<typeof invalidRequest>[1],
): ApiError => invalidRequest(`The request body ${problem}`, options);

const LIMITS: Limits = {
  // JSON.parse takes millions of levels, but code that walks the value afterwards overflows its stack.
  depth: 64,
  // Of one object. Checking and copying one takes some microseconds: 300,000 of them took seconds.
  members: 10_000,
  // Of the whole body: 10,000 messages of two parts each have 90,000. Distinct keys cost the most; 100,000 of
  // them block the process for up to 150 ms, 2.6 million values did for a second.
  values: 100_000,
};

const EXCEEDED: Record<keyof Limits, string> = {
  depth: 'is nested deeper than 64 levels.',
  members: 'holds an object of more than 10,000 members.',
  values: 'holds more than 100,000 values.',
};

/** Half a surrogate pair has no UTF-8 form: sent on, it would silently become another character. */
const assertWellFormed = (text: string): void => {
  if (!text.isWellFormed()) throw invalidBody('contains an unpaired UTF-16 surrogate.');
};

/** An ordinary key to JSON.parse, and a prototype to some of what runs later: it is removed. */
const PROTOTYPE = '__proto__';

type Cleaning = { hasEscapes: boolean; removed: Set<string> };

/**
 * Returns how many members the objects in a value have, without those that it removes.
 * @throws ApiError 400 for half a surrogate pair, which only an escape can write
 */
const cleaned = (value: unknown, cleaning: Cleaning): number => {
  const { hasEscapes, removed } = cleaning;
  if (hasEscapes && typeof value === 'string') assertWellFormed(value);
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) count += cleaned(item, cleaning);
    return count;
  }
  const object = value as Json;
  for (const name in object) {
    if (hasEscapes) assertWellFormed(name);
    if (name === PROTOTYPE) {
      Reflect.deleteProperty(object, name);
      removed.add(name);
    } else count += 1 + cleaned(object[name], cleaning);
  }
  return count;
};

/** Bytes of a list whose items are parsed one by one: a text of all gets new pages, which the system has to clear. */
const LARGE_LIST = 32_768;

type Placed = { name: string | number; index: number; value: unknown };

/**
 * Parses the objects in the large lists of an object alone, and the rest with `{}` for each of them, which is JSON if and
 * only if the whole is. @throws SyntaxError
 */
const parseBytes = (raw: Buffer, nodes: Nodes): unknown => {
  const members = raw.length > LARGE_LIST ? childrenOf({ raw, nodes }, 0) : [];
  // Of a repeated name only the last value is read.
  const isPlain = new Set(members.map(({ key }) => key)).size === members.length;
  const placed: Placed[] = [];
  let [rest, from] = ['', 0];
  for (const { key: name, node, start: first, end: last } of isPlain ? members : []) {
    if (last - first < LARGE_LIST) continue;
    for (const { key: index, start, end } of childrenOf({ raw, nodes }, node)) {
      if (typeof index === 'string' || raw[start] !== OPEN_OBJECT) continue;
      placed.push({ name, index, value: JSON.parse(raw.toString('utf8', start, end)) });
      rest += `${raw.toString('utf8', from, start)}{}`;
      from = end;
    }
  }
  const value = JSON.parse(rest + raw.toString('utf8', from));
  for (const { name, index, value: item } of placed) asArray((value as Json)[name])[index] = item;
  return value;
};

/** What `parse` gives. @throws ApiError 400 */
const parsed = <Value>(parse: () => Value): Value => {
  try {
    return parse();
  } catch {
    // The engine's message quotes the input, which may be a prompt: it goes nowhere, not even as a cause.
    throw invalidBody('is not valid JSON.');
  }
};

const parse = (raw: Raw, nodes: Nodes, text = typeof raw === 'string' ? raw : undefined): unknown =>
  parsed(() => (text === undefined ? parseBytes(raw as Buffer, nodes) : JSON.parse(text)));

/**
 * Parses what is behind the known items of a list, with a zero for them: it is JSON if and only if the whole is.
 * @throws SyntaxError
 */
const parseRest = (raw: Buffer, nodes: Nodes, { list, from }: Prefix['begun']): Json => {
  const name = raw.toString('utf8', nodes[list + NAME], nodes[list + START]);
  return JSON.parse(`{${name}[0${raw.toString('utf8', from)}`);
};

/** The value whose beginning is known; undefined if the rest repeats a name of it. */
const joined = (
  text: Pick<JsonSource, 'raw' | 'nodes'>,
  { known, begun: { members, items } }: Prefix,
  rest: Json,
): Json | undefined => {
  const before = childrenOf(text, 0).slice(0, members + 1);
  const name = String(before.pop()?.key);
  if (before.some(({ key }) => Object.hasOwn(rest, key))) return undefined;
  const value: Json = {};
  for (const { key } of before) value[key] = known.value[key];
  const [_, ...added] = asArray(rest[name]);
  return { ...value, ...rest, [name]: [...asArray(known.value[name]).slice(0, items), ...added] };
};

const within = (outline: Outline): Outline => {
  if (outline.exceeded !== undefined) throw invalidBody(EXCEEDED[outline.exceeded]);
  return outline;
};

/** Reads what is behind a known beginning; undefined if the body has to be read whole. `read`: the body, or its text in ASCII. */
const readBehind = (raw: Buffer, read: Raw, prefix: Prefix): Known | undefined => {
  const { begun } = prefix;
  const [next, known] = [begun.nodes.length, begun.places.length];
  const { nodes, places } = within(outlineOf(read, LIMITS, begun));
  const rest = parsed(() => parseRest(raw, nodes, begun));
  const cleaning = { hasEscapes: raw.includes('\\u', begun.from), removed: new Set<string>() };
  // The list has its name in the rest too.
  const isRead = cleaned(rest, cleaning) === namesIn(nodes, next) + 1;
  const value = isRead ? joined({ raw, nodes }, prefix, rest) : undefined;
  if (value) withWrittenNumbers(raw, value, places.slice(known));
  return value && { nodes, places, value };
};

/** A body of which nothing is known. */
const readWhole = (raw: Raw, read: Raw, text: string | undefined) => {
  const outline = outlineOf(read, LIMITS);
  const { places, nodes } = outline;
  if (nodes.length === 0 && textAt(raw, 0).trim() === '') {
    throw invalidBody('is empty; a JSON object is expected.');
  }
  within(outline);
  const value = asRecord(parse(raw, nodes, text));
  if (!value) throw invalidBody('must be a JSON object.');
  const removed = new Set<string>();
  const count = cleaned(value, { hasEscapes: raw.includes('\\u'), removed });
  withWrittenNumbers(raw, value, places);
  return { nodes, places, value, removed, isRead: count === namesIn(nodes) };
};

/** A smaller one is read as fast as another one is found to begin alike. */
const LARGE_BODY = 8_192;

/** `text`: that of bytes, if there is one already. */
type Options = { text?: string | undefined; bodies?: Bodies | undefined };

/**
 * Reads a body whose limits are checked before anything of it is copied. Of a name that an object repeats the last one counts:
 * the text then becomes what was read, so that no other reader sees another one.
 * @throws ApiError 400 unless `raw` is one JSON object of at most 64 levels, 10,000 members in each and 100,000 values
 */
export const parseJsonObject = (raw: Raw, bytes: number, options: Options = {}): JsonSource => {
  const { text, bodies } = options;
  // In ASCII a character's place is that of its byte.
  const read = text?.length === raw.length ? text : raw;
  const large = typeof raw === 'string' || raw.length < LARGE_BODY ? undefined : raw;
  const match = large && bodies?.match(large);
  const prefix = large && match && prefixOf(match, large.length);
  const keep = (known: Known): JsonSource => {
    if (large) bodies?.keep(large, known, match);
    return { raw, bytes, ...known };
  };
  const next = large && prefix && readBehind(large, read, prefix);
  if (next) return keep(next);
  const { isRead, removed, ...known } = readWhole(raw, read, text);
  if (isRead) return keep(known);
  const { value } = known;
  const again = JSON.stringify(value);
  const { nodes } = outlineOf(again, LIMITS);
  return { raw: again, bytes, nodes, value, removed: [...removed] };
};
