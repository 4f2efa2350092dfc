import type { Extras } from '../generation.ts';
import { asRecord, asString, readJsonObject } from '../json.ts';
import { isProtocolName } from '../protocol-name.ts';
import { NAME } from './name.ts';

/** A tool call as ids see it: with what its upstream wants to see again beside it, if anything. */
type Named = { id: string; extras?: Extras | undefined };

/** What this wire allows in a tool-use id; the other family's upstreams mint ids beyond it. */
const FITS = /^[a-zA-Z0-9_-]+$/;
/** Marks an id that was rewritten; what follows is the original in base64url. */
const MARK = 'toolu_x_';
/** Marks an id that holds the call's extras as well. */
const CARRIER = 'toolu_c_';

const encode = (text: string): string => Buffer.from(text, 'utf8').toString('base64url');
const decode = (text: string): string => Buffer.from(text, 'base64url').toString('utf8');

const isMarked = (id: string): boolean => id.startsWith(MARK) || id.startsWith(CARRIER);

/** A tool-call id as this wire allows it: itself where it fits. Injective, and needs no memory. */
export const wireToolId = (id: string): string =>
  FITS.test(id) && !isMarked(id) ? id : `${MARK}${encode(id)}`;

/**
 * The id of a call in an answer. Some upstreams of the other family sign their calls and refuse them back
 * unsigned; callers of this one keep nothing of a call but its id, so the signature goes there.
 */
export const answerToolId = ({ id, extras }: Named): string =>
  extras === undefined || extras.protocol === NAME
    ? wireToolId(id)
    : `${CARRIER}${encode(JSON.stringify({ id, extras }))}`;

const readCarrier = (wireId: string): Named | undefined => {
  const read = readJsonObject(decode(wireId.slice(CARRIER.length)));
  const id = asString(read?.id);
  const extras = asRecord(read?.extras);
  const protocol = extras?.protocol;
  const fields = asRecord(extras?.fields);
  return id === undefined || !isProtocolName(protocol) || fields === undefined
    ? undefined
    : { id, extras: { protocol, fields } };
};

/** The way back. Only what was written here is read; anything else is somebody's own id. */
export const readToolId = (wireId: string): Named => {
  const read = wireId.startsWith(MARK)
    ? { id: decode(wireId.slice(MARK.length)) }
    : wireId.startsWith(CARRIER)
      ? readCarrier(wireId)
      : undefined;
  return read && answerToolId(read) === wireId ? read : { id: wireId };
};

/** The original id behind one that came over this wire. */
export const plainToolId = (wireId: string): string => readToolId(wireId).id;
