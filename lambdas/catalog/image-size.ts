/** Width and height of an image in pixels. */
export type Size = { width: number; height: number };

/** A camera writes up to 200 KB of colours and thumbnails before the size of a JPEG. */
const MAX_DECODED = 262_144;

const ascii = (bytes: Buffer, from: number, length: number): string =>
  bytes.toString('latin1', from, from + length);

const sizeOfPng = (bytes: Buffer): Size => ({
  width: bytes.readUInt32BE(16),
  height: bytes.readUInt32BE(20),
});

const sizeOfGif = (bytes: Buffer): Size => ({
  width: bytes.readUInt16LE(6),
  height: bytes.readUInt16LE(8),
});

const sizeOfWebp = (bytes: Buffer): Size | undefined => {
  switch (ascii(bytes, 12, 4)) {
    case 'VP8 ':
      return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
    case 'VP8L': {
      const bits = bytes.readUInt32LE(21);
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    case 'VP8X':
      return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
    default:
      return undefined;
  }
};

/** Markers without a length: the start, restarts, a reserved one. */
const isLone = (marker: number): boolean => marker === 1 || (marker >= 0xd0 && marker <= 0xd8);
/** Start of a frame; three of its numbers are tables. */
const isFrame = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
const isEnd = (marker: number): boolean => marker === 0xd9 || marker === 0xda;

/** Walks the segments to the frame; a thumbnail is inside a segment, which is skipped. */
const sizeOfJpeg = (bytes: Buffer): Size | undefined => {
  let index = 2;
  while (bytes.readUInt8(index) === 0xff) {
    const marker = bytes.readUInt8(index + 1);
    if (isEnd(marker)) return undefined;
    if (isFrame(marker)) {
      return { width: bytes.readUInt16BE(index + 7), height: bytes.readUInt16BE(index + 5) };
    }
    // Any number of 0xff may precede a marker.
    if (marker === 0xff) index += 1;
    else index += isLone(marker) ? 2 : 2 + Math.max(2, bytes.readUInt16BE(index + 2));
  }
  return undefined;
};

/** The size in a file's header, by its first bytes and not by its media type, which may be wrong. */
const readSize = (bytes: Buffer): Size | undefined => {
  if (bytes.readUInt32BE(0) === 0x89_50_4e_47) return sizeOfPng(bytes);
  if (ascii(bytes, 0, 4) === 'GIF8') return sizeOfGif(bytes);
  if (ascii(bytes, 0, 4) === 'RIFF' && ascii(bytes, 8, 4) === 'WEBP') return sizeOfWebp(bytes);
  return bytes.readUInt16BE(0) === 0xff_d8 ? sizeOfJpeg(bytes) : undefined;
};

/** All but a JPEG have their size in the first bytes. */
const HEADER = 40;

/** Size of an image file in base64, from its header; undefined if it is cut short or of an unknown format. */
export const sizeOfImage = (base64: string): Size | undefined => {
  const isJpeg = base64.startsWith('/9');
  const bytes = Buffer.from(base64.slice(0, isJpeg ? (MAX_DECODED / 3) * 4 : HEADER * 2), 'base64');
  try {
    const size = readSize(bytes);
    return size && size.width > 0 && size.height > 0 ? size : undefined;
  } catch {
    // A read beyond the end of the file.
    return undefined;
  }
};
