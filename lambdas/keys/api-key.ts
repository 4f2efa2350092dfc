import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { unauthenticated } from '../support/errors.ts';
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
export const hashKey = (key: string): string => hash('sha256', key);

/** The part of a key that lists show, e.g. `mrk_live_a1B2`. */
export const startOf = (key: string): string => key.slice(0, PREFIX.length + START_LENGTH);

// --- headers -> key ---

const BEARER = /^bearer +([^ ].*)$/i;

/** Values of the headers that hold a key. Another scheme or an empty value counts as a missing header. */
const presentedIn = (headers: Record<string, string>): Set<string> => {
  const bearer = BEARER.exec(headers.authorization?.trim() ?? '')?.[1];
  const presented = new Set<string>();
  // The last one is Azure's.
  for (const value of [bearer, headers['x-api-key'], headers['api-key']]) {
    const key = value?.trim();
    if (key) presented.add(key);
  }
  return presented;
};

const wellFormedIn = (presented: Set<string>): string | undefined => {
  const [key, other] = [...presented].filter(isWellFormedKey);
  return other === undefined ? key : undefined;
};

/** The part that lists show of a key that `readCredential` would return. */
export const keyStartIn = (headers: Record<string, string>): string | undefined => {
  const key = wellFormedIn(presentedIn(headers));
  return key && startOf(key);
};

/** What is wrong with keys of which not exactly one is of this service. */
const problemOf = ({ size }: Set<string>): string => {
  if (size === 0) {
    return 'The API key is missing. Send it as "Authorization: Bearer <key>" or "x-api-key: <key>".';
  }
  return size === 1
    ? 'The API key is invalid.'
    : 'The Authorization, x-api-key and api-key headers carry different keys. Send one key.';
};

/**
 * Reads the key from the headers (names in lower case, duplicates joined by commas), and checks its format. If several
 * headers have one and they differ, the one in this service's format is used: agents often also send another vendor's key.
 * @throws ApiError 401
 */
export const readCredential = (headers: Record<string, string>): string => {
  const presented = presentedIn(headers);
  const key = wellFormedIn(presented);
  if (key !== undefined) return key;
  throw unauthenticated(problemOf(presented));
};
