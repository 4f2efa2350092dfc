import { type Bytes, encodePieces } from '../../support/bytes.ts';

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
