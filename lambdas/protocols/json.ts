import { UpstreamError } from './upstream-error.ts';

/** Readers for JSON from outside: wrong types read as absent, since real upstreams send them. */
export type Json = Record<string, unknown>;

/** Sums of some counts of this size are still exact. */
const MAX_COUNT = 2 ** 48;

export const asRecord = (value: unknown): Json | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Json)
    : undefined;

export const asArray = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

export const asString = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined;

/** A count: not negative, whole, and small enough to be added up. */
export const asCount = (value: unknown): number | undefined =>
  typeof value === 'number' && value >= 0 && value <= MAX_COUNT ? Math.floor(value) : undefined;

/** A part of a URL fragment as it was before it was escaped; some generators do not escape at all. */
const unescapeFragment = (part: string): string => {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
};

const memberAt = (value: unknown, name: string): unknown =>
  Array.isArray(value) ? value[Number(name)] : asRecord(value)?.[name];

/** What a `$ref` within one JSON Schema points at (`#/$defs/a~1b` is the definition `a/b`), if anything. */
export const resolveRef = (root: Json, ref: string): unknown =>
  ref
    .split('/')
    .slice(1)
    .map((part) => unescapeFragment(part).replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>(memberAt, root);

/** @throws UpstreamError when `data` is not a JSON object. */
export const parseUpstreamJson = (data: string): Json => {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch (cause) {
    throw new UpstreamError('malformed', 'event data is not JSON', { cause });
  }
  const record = asRecord(value);
  if (!record) throw new UpstreamError('malformed', 'event data is not a JSON object');
  return record;
};

/** The JSON object that `text` is, if it is one. */
export const readJsonObject = (text: string): Json | undefined => {
  try {
    return asRecord(JSON.parse(text));
  } catch {
    return undefined;
  }
};

export const isJsonObject = (text: string): boolean => {
  const trimmed = text.trim();
  // Asked of unfinished arguments again and again: an exception each time made 1,000 calls take 10 s.
  if (!trimmed.startsWith('{') || !trimmed.endsWith('}')) return false;
  return readJsonObject(text) !== undefined;
};
