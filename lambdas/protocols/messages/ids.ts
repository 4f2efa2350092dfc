import type { Extras } from '../generation.ts';
import { asRecord, asString, readJsonObject } from '../json.ts';
import { isProtocolName } from '../protocol-name.ts';
import { NAME } from './name.ts';

/** A tool-call id plus provider fields that must round-trip. */
type CallId = { id: string; extras?: Extras | undefined };

/** Valid tool-use ids; chat upstreams create others. */
const FITS = /^[a-zA-Z0-9_-]+$/;
/** Prefix of a rewritten id; the original follows in base64url. */
const MARK = 'toolu_x_';
/** Prefix of an id that also holds the call's extras. */
const CARRIER = 'toolu_c_';

const encode = (text: string): string => Buffer.from(text, 'utf8').toString('base64url');
const decode = (text: string): string => Buffer.from(text, 'base64url').toString('utf8');

const isMarked = (id: string): boolean => id.startsWith(MARK) || id.startsWith(CARRIER);

/** A valid tool-use id: unchanged if valid. Injective and stateless. */
export const wireToolId = (id: string): string =>
  FITS.test(id) && !isMarked(id) ? id : `${MARK}${encode(id)}`;

/**
 * The id of a call in a response. Some chat upstreams sign their calls and reject them unsigned;
 * callers of this protocol keep only the id of a call, so the id carries the signature.
 */
export const responseToolId = ({ id, extras }: CallId): string =>
  extras === undefined || extras.protocol === NAME
    ? wireToolId(id)
    : `${CARRIER}${encode(JSON.stringify({ id, extras }))}`;

const readCarrier = (wireId: string): CallId | undefined => {
  const read = readJsonObject(decode(wireId.slice(CARRIER.length)));
  const id = asString(read?.id);
  const extras = asRecord(read?.extras);
  const protocol = extras?.protocol;
  const fields = asRecord(extras?.fields);
  return id === undefined || !isProtocolName(protocol) || fields === undefined
    ? undefined
    : { id, extras: { protocol, fields } };
};

/** The inverse. An id that this file did not write is returned unchanged. */
export const readToolId = (wireId: string): CallId => {
  const read = wireId.startsWith(MARK)
    ? { id: decode(wireId.slice(MARK.length)) }
    : wireId.startsWith(CARRIER)
      ? readCarrier(wireId)
      : undefined;
  return read && responseToolId(read) === wireId ? read : { id: wireId };
};

/** The original id of a wire id. */
export const plainToolId = (wireId: string): string => readToolId(wireId).id;
