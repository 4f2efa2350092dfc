import { createHash, hash } from 'node:crypto';

/** What is sent: a text, in UTF-8, or pieces one after the other. */
export type Bytes = string | Uint8Array | Uint8Array[];

export const sizeOf = (bytes: Bytes): number =>
  Array.isArray(bytes)
    ? bytes.reduce((size, piece) => size + piece.byteLength, 0)
    : Buffer.byteLength(bytes);

/** In hex. */
export const sha256Of = (bytes: Bytes): string => {
  if (!Array.isArray(bytes)) return hash('sha256', bytes);
  const digest = createHash('sha256');
  for (const piece of bytes) digest.update(piece);
  return digest.digest('hex');
};

/** The bytes of all parts; a single part, as most bodies have, is not copied. */
export const joinBytes = (parts: Buffer[]): Buffer => {
  const [first] = parts;
  return first && parts.length === 1 ? first : Buffer.concat(parts);
};

const ENCODER = new TextEncoder();

/** Most texts have few characters of more than one byte. */
const ROOM = 1.125;

/** Characters of a text that Node sends faster as it is. */
export const SHORT = 4_096;

/**
 * What is sent of texts, one after the other: a short text, or bytes. A long text Node measures and encodes slowly, and copies
 * before that if it is made of others. `size`: about how many bytes they have, by default one for each character.
 */
export const encodePieces = (
  pieces: readonly string[],
  size = pieces.reduce((sum, { length }) => sum + length, 0),
): string | Buffer => {
  if (size < SHORT) return pieces.join('');
  const bytes = Buffer.allocUnsafe(Math.ceil(size * ROOM));
  let end = 0;
  for (const piece of pieces) {
    const { read, written } = ENCODER.encodeInto(piece, bytes.subarray(end));
    // Chinese, and Latin letters with accents, have no room.
    if (read < piece.length) return Buffer.from(pieces.join(''));
    end += written;
  }
  return bytes.subarray(0, end);
};

// --- received texts ---

/** A JSON text as it was received: its bytes in UTF-8, without a byte order mark, or its characters. Places count either. */
export type Raw = string | Buffer;

/** What is between two places. */
export const textAt = (raw: Raw, start: number, end?: number): string =>
  typeof raw === 'string' ? raw.slice(start, end) : raw.toString('utf8', start, end);

/** The code of the sign of JSON at a place. */
export const codeAt = (raw: Raw, place: number): number | undefined =>
  typeof raw === 'string' ? raw.charCodeAt(place) : raw[place];

/** What is between two places, or behind one, not copied. */
export const sliceOf = (raw: Raw, start: number, end?: number): Raw =>
  typeof raw === 'string' ? raw.slice(start, end) : raw.subarray(start, end);

/** Pieces of what is sent, about as many bytes as were received. */
export const joinPieces = (pieces: Raw[], { raw, bytes }: { raw: Raw; bytes: number }): Bytes =>
  typeof raw === 'string'
    ? encodePieces(
        pieces.map((piece) => textAt(piece, 0)),
        bytes,
      )
    : pieces
        .filter(({ length }) => length > 0)
        .map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece));
