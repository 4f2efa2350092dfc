import type { Bytes } from '../../support/bytes.ts';
import type { Json, JsonSource } from './json.ts';
import { END, START } from './outline.ts';
import { createSlicer, joinPieces } from './slices.ts';
import { childrenOf } from './splice.ts';

/**
 * Strings are the bulk of an agent's body, and a string of JSON is the same text in every protocol: what is written holds
 * the received bytes of the long ones, and only the rest is written by the encoder.
 */

/** Characters of a string that takes longer to write than to find. */
const LONG = 512;

/** Half a surrogate pair, which JSON writes as an escape, before the number of a string. */
const MARK = '\ud800';
const MARKS = /"\\ud800(\d+)"/g;

type Places = { start: number; end: number }[];

/** Adds the long strings of the value at `node`, in their order, with the number of their place. */
const addLong = (
  source: JsonSource,
  { node, value }: { node: number; value: unknown },
  found: { numbers: Map<string, number>; places: Places },
): void => {
  const [start, end] = [source.nodes[node + START] ?? 0, source.nodes[node + END] ?? 0];
  if (end - start < LONG) return;
  if (typeof value === 'string') {
    if (value.length < LONG || found.numbers.has(value)) return;
    found.numbers.set(value, found.places.length);
    found.places.push({ start, end });
    return;
  }
  const members = value as Record<string | number, unknown>;
  for (const { key, node: inner } of childrenOf(source, node)) {
    addLong(source, { node: inner, value: members[key] }, found);
  }
};

/** The JSON of an object, with each long string that `source` has in the bytes that it has there. */
export const moveStrings = (value: Json, source: JsonSource): Bytes => {
  const numbers = new Map<string, number>();
  const places: Places = [];
  addLong(source, { node: 0, value: source.value }, { numbers, places });
  let isMarkable = true;
  const marked = JSON.stringify(value, (name, member) => {
    isMarkable &&= name.isWellFormed();
    if (typeof member !== 'string') return member;
    const number = member.length < LONG ? undefined : numbers.get(member);
    if (number !== undefined) return MARK + number;
    isMarkable &&= member.isWellFormed();
    return member;
  });
  // Half a pair, which only the arguments of a call can hold, looks like a mark.
  if (!isMarkable) return JSON.stringify(value);
  const slice = createSlicer(source);
  const strings = places.map(({ start, end }) => slice(start, end));
  const pieces: (string | Uint8Array)[] = [];
  let written = 0;
  for (const { index, 0: mark, 1: number } of marked.matchAll(MARKS)) {
    const string = strings[Number(number)];
    if (string) pieces.push(marked.slice(written, index), string);
    written = index + mark.length;
  }
  pieces.push(marked.slice(written));
  return joinPieces(pieces, source);
};
