import { unauthenticated } from '../support/errors.ts';
import { isWellFormedKey } from './api-key.ts';

const MAX_LENGTH = 256;
const BEARER = /^bearer +([^ ].*)$/i;
/** Visible ASCII without a comma: duplicate headers arrive joined by commas, and no key contains one. */
const TOKEN = /^[!-+\--~]+$/;

/** Values of both headers. Another scheme or an empty value counts as a missing header. */
const presentedIn = (headers: Record<string, string>): string[] => {
  const bearer = BEARER.exec(headers.authorization?.trim() ?? '')?.[1];
  return [bearer, headers['x-api-key']]
    .map((value) => value?.trim() ?? '')
    .filter((value) => value !== '');
};

const choose = (presented: string[]): string | undefined => {
  const distinct = [...new Set(presented)];
  if (distinct.length < 2) return distinct[0];
  const wellFormed = distinct.filter(isWellFormedKey);
  if (wellFormed.length === 1) return wellFormed[0];
  throw unauthenticated(
    'The Authorization and x-api-key headers carry different keys. Send one key.',
  );
};

/**
 * Reads the key from the headers (names in lower case, duplicates joined by commas). If both headers have one
 * and they differ, the one in this service's key format is used: agents often also send another vendor's key.
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

/** Whether the headers have one key in the format of this service; no store is read. */
export const hasWellFormedKey = (headers: Record<string, string>): boolean => {
  try {
    return isWellFormedKey(readCredential(headers));
  } catch {
    return false;
  }
};
