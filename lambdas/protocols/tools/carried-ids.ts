import { asRecord, asString, isTooDeep, readJsonObject } from '../bytes/json.ts';
import type { Extras } from '../generation.ts';
import { isProtocolName } from '../protocol-name.ts';

/** A tool-call id plus provider fields that must round-trip. */
export type CallId = { id: string; extras?: Extras };

/** Prefix of an id that also holds the call's extras. */
const CARRIER = 'toolu_c_';

export const isCarrier = (id: string): boolean => id.startsWith(CARRIER);

/**
 * The id of a call in a response. Some chat upstreams sign their calls and reject them unsigned;
 * callers of other protocols keep only the id of a call, so the id carries the signature.
 */
export const carryingId = (id: string, extras: Extras | undefined): string =>
  extras === undefined
    ? id
    : `${CARRIER}${Buffer.from(JSON.stringify({ id, extras })).toString('base64url')}`;

/** The inverse. An id that `carryingId` did not write is returned unchanged. */
export const readCarriedId = (wireId: string): CallId => {
  if (!isCarrier(wireId)) return { id: wireId };
  const text = Buffer.from(wireId.slice(CARRIER.length), 'base64url').toString('utf8');
  const read = readJsonObject(text);
  const id = asString(read?.id);
  const { protocol, fields: wireFields } = asRecord(read?.extras) ?? {};
  const fields = asRecord(wireFields);
  // Deeper levels, which no response has, could not be encoded again.
  const isOwn = isProtocolName(protocol) && !isTooDeep(fields);
  if (id === undefined || !isOwn || !fields) return { id: wireId };
  const extras = { protocol, fields };
  return carryingId(id, extras) === wireId ? { id, extras } : { id: wireId };
};
