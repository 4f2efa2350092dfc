const ENCODER = new TextEncoder();

/** Most texts have few characters of more than one byte. */
const ROOM = 1.125;

/** Characters of a text that Node sends faster as it is. */
const SHORT = 4_096;

const lengthOf = (pieces: readonly string[]): number =>
  pieces.reduce((sum, { length }) => sum + length, 0);

/**
 * What is sent of texts, one after the other: a short text, or bytes. A long text Node measures and encodes slowly, and copies
 * before that if it is made of others. `size`: about how many bytes they have, by default one for each character.
 */
export const encodePieces = (
  pieces: readonly string[],
  size = lengthOf(pieces),
): string | Buffer => {
  if (size < SHORT) return pieces.join('');
  const bytes = Buffer.allocUnsafeSlow(Math.ceil(size * ROOM));
  let end = 0;
  for (const piece of pieces) {
    const { read, written } = ENCODER.encodeInto(piece, bytes.subarray(end));
    // Chinese, and Latin letters with accents, have no room.
    if (read < piece.length) return Buffer.from(pieces.join(''));
    end += written;
  }
  return bytes.subarray(0, end);
};
