const ENCODER = new TextEncoder();

/** Most texts have few characters of more than one byte. */
const ROOM = 1.125;

/**
 * Encodes texts of about `length` characters in all, one after the other. `Buffer.from` measures a text first, which takes
 * twice as long for ASCII; Chinese and Latin letters with accents are slower here.
 */
export const createUtf8Writer = (length: number) => {
  let bytes = Buffer.allocUnsafe(Math.ceil(length * ROOM));
  let start = 0;
  let end = 0;
  return {
    write: (text: string): void => {
      const { read, written } = ENCODER.encodeInto(text, bytes.subarray(end));
      if (read === text.length) end += written;
      else {
        bytes = Buffer.concat([bytes], Math.max(2 * bytes.length, end + Buffer.byteLength(text)));
        end += bytes.write(text, end);
      }
    },
    /** Returns the bytes of what was written since the last call. */
    take: (): Buffer => {
      const taken = bytes.subarray(start, end);
      start = end;
      return taken;
    },
  };
};

/** The bytes that `Buffer.from` returns. */
export const toUtf8 = (text: string): Buffer => {
  const writer = createUtf8Writer(text.length);
  writer.write(text);
  return writer.take();
};
