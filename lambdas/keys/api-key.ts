import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { type RandomBytes, randomBase62, toBase62 } from '../support/ids.ts';

/**
 * `mrk_live_` + 32 random characters (190 bits) + 6 of checksum. The checksum turns away typos, cut-off keys
 * and other vendors' keys without a lookup; it is public, so it stops no forger.
 */
const PREFIX = 'mrk_live_';
const RANDOM_LENGTH = 32;
const CHECKSUM_LENGTH = 6;
const FORMAT = /^mrk_live_[0-9A-Za-z]{38}$/;
/** Characters of the random part that lists may show. */
const SHOWN_LENGTH = 4;

const checksumOf = (text: string): string => toBase62(crc32(text), CHECKSUM_LENGTH);

/** A new key. It exists in clear only here and in the hands of whom it is shown to. */
export const mintKey = (randomBytes: RandomBytes): string => {
  const body = PREFIX + randomBase62(RANDOM_LENGTH, randomBytes);
  return body + checksumOf(body);
};

/** Whether a text can be a key of this service at all; costs a microsecond. */
export const isWellFormedKey = (text: string): boolean =>
  FORMAT.test(text) && text.endsWith(checksumOf(text.slice(0, -CHECKSUM_LENGTH)));

/** SHA-256 in hex: enough for a random secret of this length, which no dictionary holds. */
export const hashKey = (key: string): string => createHash('sha256').update(key).digest('hex');

/** What a list shows of a key, e.g. `mrk_live_a1B2`. */
export const startOf = (key: string): string => key.slice(0, PREFIX.length + SHOWN_LENGTH);
