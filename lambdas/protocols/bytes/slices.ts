import type { JsonSource } from './json.ts';

/**
 * Returns a function that gives the bytes between two places of a text, or behind one. Each call begins at or behind the
 * end of the last one, so that no character is measured twice.
 */
export const createSlicer = ({ text, utf8 }: Pick<JsonSource, 'text' | 'utf8'>) => {
  // Of ASCII, a character is a byte.
  const isAscii = text.length === utf8.byteLength;
  let [from, at] = [0, 0];
  const moveTo = (place: number): number => {
    at += isAscii ? place - from : Buffer.byteLength(text.slice(from, place));
    from = place;
    return at;
  };
  return (start: number, end?: number): Uint8Array => {
    const first = moveTo(start);
    return utf8.subarray(first, end === undefined ? undefined : moveTo(end));
  };
};
