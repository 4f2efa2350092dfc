import { asRecord, asString, type Json } from '../bytes/json.ts';
import type { GenerationRequest } from '../generation.ts';
import { type CallId, carryingId, isCarrier, readCarriedId } from '../tools/carried-ids.ts';

/** Valid tool-use ids; chat upstreams create others. */
const FITS = /^[a-zA-Z0-9_-]+$/;
/** Prefix of a rewritten id; the original follows in base64url. */
const MARK = 'toolu_x_';

const encode = (text: string): string => Buffer.from(text, 'utf8').toString('base64url');
const decode = (text: string): string => Buffer.from(text, 'base64url').toString('utf8');

const isMarked = (id: string): boolean => id.startsWith(MARK) || isCarrier(id);

/** Whether a target may get an id unchanged: it is valid, and carries no extras of another protocol. */
export const isOwnToolId = (id: string): boolean => FITS.test(id) && !isCarrier(id);

/** A valid tool-use id: unchanged if valid. Injective and stateless. */
export const wireToolId = (id: string): string =>
  FITS.test(id) && !isMarked(id) ? id : `${MARK}${encode(id)}`;

/** The id of a call in a response; it carries the extras of another protocol. */
export const responseToolId = ({ id, extras }: CallId): string =>
  extras === undefined || extras.protocol === 'messages' ? wireToolId(id) : carryingId(id, extras);

/** The inverse. An id that this file did not write is returned unchanged. */
export const readToolId = (wireId: string): CallId => {
  if (!wireId.startsWith(MARK)) return readCarriedId(wireId);
  const id = decode(wireId.slice(MARK.length));
  return wireToolId(id) === wireId ? { id } : { id: wireId };
};

// --- messages ---

const PREFIX = 'msg_';

/**
 * The id of a response; for a caller who asks for diagnostics of caches it holds the vendor's, which the next request names.
 * `sent`: the vendor's message.
 */
export const messageId = (id: string, { extras }: GenerationRequest, sent?: Json): string => {
  const own = asString(sent?.id);
  return asRecord(extras.fields.diagnostics) && own?.startsWith(PREFIX)
    ? `${PREFIX}${id}_${own.slice(PREFIX.length)}`
    : PREFIX + id;
};

/** The vendor's id in one of `messageId`; any other id unchanged. */
export const vendorMessageId = (id: string): string =>
  id.replace(/^msg_[0-9A-Za-z]+_(?=.)/, PREFIX);

export const plainToolId = (wireId: string): string => readToolId(wireId).id;
