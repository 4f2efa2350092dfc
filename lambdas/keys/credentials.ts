import { unauthenticated } from '../support/errors.ts';
import { isWellFormedKey } from './api-key.ts';

const MAX_LENGTH = 256;
const BEARER = /^bearer +(.*)$/i;
/** Visible ASCII without a comma: duplicates of a header arrive joined by commas, and no key holds one. */
const TOKEN = /^[!-+\--~]+$/;

/** A header that does not count (another scheme, an empty value) is the same as none. */
const presentedIn = (headers: Record<string, string>): string[] => {
  const bearer = BEARER.exec(headers.authorization?.trim() ?? '')?.[1];
  return [bearer, headers['x-api-key']]
    .map((value) => value?.trim() ?? '')
    .filter((value) => value !== '');
};

const choose = (presented: string[]): string | undefined => {
  const different = [...new Set(presented)];
  if (different.length < 2) return different[0];
  const wellFormed = different.filter(isWellFormedKey);
  if (wellFormed.length === 1) return wellFormed[0];
  throw unauthenticated(
    'The Authorization and x-api-key headers carry different keys. Send one key.',
  );
};

/**
 * The key that the headers present (names in lower case, duplicates joined by commas). Where both headers do,
 * and differ, the one with this service's key format counts: agents often send a leftover of another vendor.
 * @throws ApiError 401
 */
export const readCredential = (headers: Record<string, string>): string => {
  const key = choose(presentedIn(headers));
  if (key === undefined) {
    throw unauthenticated(
      'The API key is missing. Send it as "Authorization: Bearer <key>" or "x-api-key: <key>".',
    );
  }
  if (key.length > MAX_LENGTH || !TOKEN.test(key)) {
    throw unauthenticated('The API key is invalid.');
  }
  return key;
};
