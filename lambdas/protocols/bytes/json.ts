import { decodeUri, isRecord, withoutSpelling } from '../../support/readers.ts';
import { UpstreamError } from '../rejections/upstream-error.ts';
import { parseWritten } from './numbers.ts';
import { FREE, type Nodes, outlineOf } from './outline.ts';
import type { Raw } from './raw.ts';

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

// --- texts that differ in one string ---

/** A string without escapes: V8 finds that in a third of the time in which it parses or writes one. */
const PLAIN = /^"[ !#-[\]-\ud7ff\ue000-\uffff]*"$/;

const writeString = (text: string): string => {
  const literal = `"${text}"`;
  return PLAIN.test(literal) ? literal : JSON.stringify(text);
};

/** The string of a JSON literal; undefined for any other value. */
export const readString = (literal: string): string | undefined =>
  PLAIN.test(literal) ? literal.slice(1, -1) : asString(readJson(literal));

/** Stands for the string; no name or id holds it. */
const HOLE = '\u0000';
const HOLE_LITERAL = JSON.stringify(HOLE);

/** Returns a function that writes the same JSON as `write`, which stringifies it once, with another string. */
export const jsonTemplate = (write: (hole: string) => string): ((text: string) => string) => {
  const [head, tail] = write(HOLE).split(HOLE_LITERAL);
  return (text) => `${head}${writeString(text)}${tail}`;
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
