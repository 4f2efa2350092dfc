/** What this wire allows in a tool-use id; the other family's upstreams mint ids beyond it. */
const FITS = /^[a-zA-Z0-9_-]+$/;
/** Marks an id that was rewritten; what follows is the original in base64url. */
const MARK = 'toolu_x_';

/** A tool-call id as this wire allows it: itself where it fits. Injective, and needs no memory. */
export const wireToolId = (id: string): string =>
  FITS.test(id) && !id.startsWith(MARK)
    ? id
    : `${MARK}${Buffer.from(id, 'utf8').toString('base64url')}`;

/** The way back: the original id behind one that came over this wire. */
export const plainToolId = (wireId: string): string => {
  if (!wireId.startsWith(MARK)) return wireId;
  const id = Buffer.from(wireId.slice(MARK.length), 'base64url').toString('utf8');
  // Only what wireToolId could have written is read back; anything else is somebody's own id.
  return wireToolId(id) === wireId ? id : wireId;
};
