/** Returns `size` random bytes; injected so that tests and simulations are repeatable. */
export type RandomBytes = (size: number) => Uint8Array;

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

/** Request ids are `req_` + 24 characters; the suffix also names the generation (`chatcmpl-…`, `msg_…`). */
export const newRequestId = (randomBytes: RandomBytes): string =>
  `req_${randomBase62(24, randomBytes)}`;

export const suffixOf = (requestId: string): string => requestId.slice('req_'.length);
