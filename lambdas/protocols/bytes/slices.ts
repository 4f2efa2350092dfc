import type { Bytes } from '../../support/bytes.ts';
import type { JsonSource } from './json.ts';

type Received = Pick<JsonSource, 'text' | 'utf8'>;
type Piece = string | Uint8Array;

/**
 * Returns a function that gives what is between two places of a text, or behind one, in bytes where it was received so.
 * Each call begins at or behind the end of the last one, so that no character is measured twice.
 */
export const createSlicer = ({ text, utf8 }: Received) => {
  if (!utf8) return (start: number, end?: number): Piece => text.slice(start, end);
  // Of ASCII, a character is a byte.
  const isAscii = text.length === utf8.byteLength;
  let [from, at] = [0, 0];
  const moveTo = (place: number): number => {
    at += isAscii ? place - from : Buffer.byteLength(text.slice(from, place));
    from = place;
    return at;
  };
  return (start: number, end?: number): Piece => {
    const first = moveTo(start);
    return utf8.subarray(first, end === undefined ? undefined : moveTo(end));
  };
};

/** Characters of a text that is encoded piece by piece: as one, Node reserves three bytes for each of them to send it. */
const LARGE_TEXT = 256_000;

/** Pieces of what is sent, as one text if `received` is one of ordinary size. */
export const joinPieces = (pieces: Piece[], { text, utf8 }: Received): Bytes =>
  !utf8 && text.length < LARGE_TEXT
    ? pieces.join('')
    : pieces
        .filter(({ length }) => length > 0)
        .map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece));
