const ENCODER = new TextEncoder();

/** Most texts have few characters of more than one byte. */
const ROOM = 1.125;

/**
 * The bytes of a text of about `length` characters, in pieces. `Buffer.from` measures a text first, which takes twice as
 * long for ASCII; Chinese and Latin letters with accents are slower here.
 */
export const toUtf8 = (pieces: Iterable<string>, length: number): Buffer => {
  let bytes = Buffer.allocUnsafe(Math.ceil(length * ROOM));
  let end = 0;
  for (const piece of pieces) {
    const { read, written } = ENCODER.encodeInto(piece, bytes.subarray(end));
    if (read === piece.length) end += written;
    else {
      bytes = Buffer.concat([bytes], Math.max(2 * bytes.length, end + Buffer.byteLength(piece)));
      end += bytes.write(piece, end);
    }
  }
  return bytes.subarray(0, end);
};
