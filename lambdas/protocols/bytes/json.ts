import { type Raw, textAt } from '../../support/bytes.ts';
import { decodeUri, isRecord, withoutSpelling } from '../../support/objects.ts';
import { UpstreamError } from '../rejections/upstream-error.ts';
import { FREE, type Nodes, outlineOf, type Place } from './outline.ts';

/** Readers for external JSON: a value of the wrong type reads as absent, as upstreams send them. */
export type Json = Record<string, unknown>;

/** A JSON text, how many bytes were received, where its values are, and what it is parsed to. */
export type JsonSource = {
  raw: Raw;
  bytes: number;
  nodes: Nodes;
  value: unknown;
  /** Names of members that were removed from all of them. */
  removed?: string[];
};

/** Sums of several counts of this size are exact. */
const MAX_COUNT = 2 ** 48;

export const asRecord = (value: unknown): Json | undefined => (isRecord(value) ? value : undefined);

export const asArray = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

export const asString = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined;

/** An empty list reads as absent: vendors reject it if they require an entry. */
export const listOf = <T>(list: T[] | undefined): T[] | undefined =>
  list && list.length > 0 ? list : undefined;

export const asNumber = (value: unknown): number | undefined => {
  const plain = withoutSpelling(value);
  return typeof plain === 'number' ? plain : undefined;
};

/** A count: not negative, rounded down, at most `MAX_COUNT`. */
export const asCount = (value: unknown): number | undefined => {
  const count = asNumber(value);
  return count !== undefined && count >= 0 && count <= MAX_COUNT ? Math.floor(count) : undefined;
};

const memberAt = (value: unknown, name: string): unknown =>
  Array.isArray(value) ? value[Number(name)] : asRecord(value)?.[name];

/**
 * Resolves a `$ref` within a JSON Schema (`#/$defs/a~1b` is definition `a/b`); undefined if absent. A fragment that is not
 * valid is not decoded, as some generators do not escape.
 */
export const resolveRef = (root: Json, ref: string): unknown => {
  let value: unknown = root;
  // Decoded as a whole: a failure takes 6 us.
  for (const part of (decodeUri(ref) ?? ref).split('/').slice(1)) {
    if (value === undefined) return undefined;
    value = memberAt(value, part.replaceAll('~1', '/').replaceAll('~0', '~'));
  }
  return value;
};

// --- numbers ---

/**
 * Numbers stay as they were written until the router computes with them: `1849173641234567891` is an id of a caller's tool,
 * and the nearest number of JavaScript is another id.
 */

/** What may hold a number that JavaScript writes in another way; a text in quotes may look so too. */
const SUSPECT = /(?:^|[:,[])\s*-?(?:0(?<=-0)|\d+[.eE]|\d{16})/;

const keyAt = (raw: Raw, [start, end]: Place['steps'][number]): string | number =>
  start < 0 ? -1 - start : JSON.parse(textAt(raw, start, end));

const memberOf = (holder: unknown, key: string | number): unknown =>
  typeof holder === 'object' && holder !== null && Object.hasOwn(holder, key)
    ? (holder as Record<string | number, unknown>)[key]
    : undefined;

/** The parsed `raw` with the numbers at `places` as they were written. Of a repeated name the last one was read. */
export const withWrittenNumbers = (raw: Raw, value: unknown, places: Place[]): unknown => {
  let root = value;
  for (const { steps, start, end } of places) {
    const keys = steps.map((step) => keyAt(raw, step));
    const source = textAt(raw, start, end);
    const last = keys.pop();
    const holder = keys.reduce(memberOf, root);
    const read = last === undefined ? root : memberOf(holder, last);
    if (!Object.is(read, Number(source))) continue;
    const written = JSON.rawJSON(source);
    if (last === undefined) root = written;
    else (holder as Record<string | number, unknown>)[last] = written;
  }
  return root;
};

/** JSON.parse, with numbers as they were written, but for those of a text of more than 1,000 levels. @throws SyntaxError */
export const parseWritten = (text: string): unknown => {
  const value: unknown = JSON.parse(text);
  if (!SUSPECT.test(text)) return value;
  return withWrittenNumbers(text, value, outlineOf(text, FREE).places);
};

/** Whether two values are the same JSON but for the spelling of numbers, and for members that are null or undefined. */
export const isSameJson = (one: unknown, other: unknown): boolean => {
  if (one === other) return true;
  const [left, right] = [withoutSpelling(one), withoutSpelling(other)];
  if (!isRecord(left) || !isRecord(right)) {
    const isList = Array.isArray(left) && Array.isArray(right) && left.length === right.length;
    if (isList) return left.every((item, index) => isSameJson(item, right[index]));
    return left === right || (left == null && right == null);
  }
  const names = new Set([...Object.keys(left), ...Object.keys(right)]);
  return [...names].every((name) => isSameJson(left[name], right[name]));
};

// --- texts ---

/** A shorter text is parsed within milliseconds, even if it is all brackets. */
const SHORT_TEXT = 64 * 1024;

/** Whether a text, not parsed yet, nests deeper than 1,000 levels: JSON.parse takes more than a second for megabytes of brackets. */
const hasTooManyLevels = (text: string): boolean => outlineOf(text, FREE).exceeded !== undefined;

/** Parses an upstream's JSON. @throws UpstreamError when it is not JSON, or deeper than 1,000 levels */
export const parseUpstreamText = (text: string): unknown => {
  if (text.length > SHORT_TEXT && hasTooManyLevels(text)) {
    throw new UpstreamError('malformed', 'JSON of more than 1,000 levels');
  }
  try {
    return parseWritten(text);
  } catch (cause) {
    throw new UpstreamError('malformed', 'not JSON', { cause });
  }
};

/** @throws UpstreamError when `data` is not a JSON object. */
export const parseUpstreamJson = (data: string): Json => {
  const record = asRecord(parseUpstreamText(data));
  if (!record) throw new UpstreamError('malformed', 'event data is not a JSON object');
  return record;
};

/** Parses a JSON text; undefined if it is not one. */
export const readJson = (text: string): unknown => {
  try {
    return parseWritten(text);
  } catch {
    return undefined;
  }
};

/** Parses a JSON object; undefined if `text` is not one. */
export const readJsonObject = (text: string): Json | undefined => asRecord(readJson(text));

export const isJsonObject = (text: string): boolean => {
  const trimmed = text.trim();
  // Avoids an exception for each fragment of unfinished arguments: 1,000 tool calls took 10 s with it.
  if (!trimmed.startsWith('{') || !trimmed.endsWith('}')) return false;
  return readJsonObject(text) !== undefined;
};

// --- depth ---

/** `JSON.stringify` recurses and overflows its stack at about 5,000 levels; `JSON.parse` does not. */
const MAX_DEPTH = 500;

/** Whether a parsed value nests deeper than 500 levels: it could be neither walked nor encoded safely. */
export const isTooDeep = (value: unknown, levels = MAX_DEPTH): boolean => {
  if (!isRecord(value) && !Array.isArray(value)) return false;
  // Names are listed faster than values.
  const members = value as Json;
  return levels === 0 || Object.keys(value).some((name) => isTooDeep(members[name], levels - 1));
};
