import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { type RandomBytes, randomBase62, toBase62 } from '../support/ids.ts';

/**
 * `mrk_live_` + 32 random characters (190 bits) + 6 of checksum. The checksum rejects typos, truncated keys and
 * other vendors' keys without a lookup; its algorithm is public, so it does not prevent forgery.
 */
const PREFIX = 'mrk_live_';
const RANDOM_LENGTH = 32;
const CHECKSUM_LENGTH = 6;
const FORMAT = /^mrk_live_[0-9A-Za-z]{38}$/;
/** Characters of the random part that lists show. */
const START_LENGTH = 4;

const checksumOf = (text: string): string => toBase62(crc32(text), CHECKSUM_LENGTH);

/** Creates a key. It is returned once in clear and never stored. */
export const mintKey = (randomBytes: RandomBytes): string => {
  const body = PREFIX + randomBase62(RANDOM_LENGTH, randomBytes);
  return body + checksumOf(body);
};

/** Whether a text has the format and checksum of a key; takes a microsecond. */
export const isWellFormedKey = (text: string): boolean =>
  FORMAT.test(text) && text.endsWith(checksumOf(text.slice(0, -CHECKSUM_LENGTH)));

/** SHA-256 in hex. Sufficient without salt or stretching, because a random secret is in no dictionary. */
export const hashKey = (key: string): string => createHash('sha256').update(key).digest('hex');

/** The part of a key that lists show, e.g. `mrk_live_a1B2`. */
export const startOf = (key: string): string => key.slice(0, PREFIX.length + START_LENGTH);
