import { perUnit } from './clock.ts';

/** Returns `size` random bytes; injected so that tests and simulations are repeatable. */
export type RandomBytes = (size: number) => Uint8Array;

/** As many bytes as 30 ids take. */
const POOL_BYTES = 1_024;

/** Reads many bytes at once, and returns each of them once: a read takes 2 us, however few they are. */
export const pooled = (randomBytes: RandomBytes): RandomBytes => {
  let pool: Uint8Array = new Uint8Array();
  let taken = 0;
  return (size) => {
    if (pool.length - taken < size) {
      pool = randomBytes(Math.max(size, POOL_BYTES));
      taken = 0;
    }
    taken += size;
    return pool.subarray(taken - size, taken);
  };
};

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** The largest multiple of 62 in a byte: values at or above it would favour the first letters. */
const UNBIASED = 248;

/** `length` characters of [0-9A-Za-z], uniformly drawn (5.95 bits each). */
export const randomBase62 = (length: number, randomBytes: RandomBytes): string => {
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      if (byte < UNBIASED && text.length < length) text += BASE62[byte % 62];
    }
  }
  return text;
};

/** A non-negative integer in base 62, left-padded with zeros to `width`. */
export const toBase62 = (value: number, width: number): string => {
  let text = '';
  for (let rest = value; text.length < width || rest > 0; rest = Math.floor(rest / 62)) {
    text = BASE62[rest % 62] + text;
  }
  return text;
};

const REQUEST_PREFIX = 'req_';
/** Seconds since the epoch in base 62: ids sort by time, and a record is found without an index. */
const TIME_WIDTH = 6;
const SUFFIX = /^[0-9A-Za-z]{24}$/;

/**
 * Request ids are `req_`, the second in 6 characters and 18 random ones (107 bits); what follows the prefix
 * also names the generation (`chatcmpl-…`, `msg_…`).
 */
export const newRequestId = (randomBytes: RandomBytes, now: number): string =>
  firstRequestIdAt(now) + randomBase62(18, randomBytes);

/** Sorts before every id of the second of `now` and after every earlier id. */
export const firstRequestIdAt = perUnit(
  1_000,
  (instant) => REQUEST_PREFIX + toBase62(Math.floor(instant.getTime() / 1000), TIME_WIDTH),
);

/** When an id began, in ms, to the second; `suffix` is the id without its prefix. Undefined if it is none. */
export const timeIn = (suffix: string): number | undefined => {
  if (!SUFFIX.test(suffix)) return undefined;
  const letters = [...suffix.slice(0, TIME_WIDTH)];
  return letters.reduce((sum, letter) => sum * 62 + BASE62.indexOf(letter), 0) * 1000;
};

export const isRequestId = (text: string): boolean =>
  text.startsWith(REQUEST_PREFIX) && SUFFIX.test(suffixOf(text));

/** When the request began, in ms, to the second; undefined if the text is not a request id. */
export const requestTimeOf = (requestId: string): number | undefined =>
  requestId.startsWith(REQUEST_PREFIX) ? timeIn(suffixOf(requestId)) : undefined;

/** What a protocol's responses write for the prefix of their request's id. */
export const RESPONSE_PREFIXES: Record<string, string> = {
  chat: 'chatcmpl-',
  messages: 'msg_',
  responses: 'resp_',
};

/** The id of the request that an id of its response names, which a vendor's may follow; any other text as it is. */
export const requestIdIn = (id: string): string => {
  const prefix = Object.values(RESPONSE_PREFIXES).find((one) => id.startsWith(one));
  const [suffix = ''] = prefix === undefined ? [] : id.slice(prefix.length).split('_');
  return SUFFIX.test(suffix) ? REQUEST_PREFIX + suffix : id;
};

export const suffixOf = (requestId: string): string => requestId.slice(REQUEST_PREFIX.length);

/** Milliseconds since the epoch in base 62. */
const MS_WIDTH = 8;

/** Sorts before every id of an audit entry from `now` (ms) on and after every earlier one. */
export const firstAuditIdAt = (now: number): string => `aud_${toBase62(now, MS_WIDTH)}`;

/** Ids of a request's audit entries: its millisecond, the end of its id, and a number after the first. */
export const auditIdOf = (requestId: string, now: number, index: number): string => {
  const first = firstAuditIdAt(now) + requestId.slice(-12);
  return index === 0 ? first : `${first}-${String(index).padStart(4, '0')}`;
};
