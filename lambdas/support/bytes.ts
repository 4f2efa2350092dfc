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
