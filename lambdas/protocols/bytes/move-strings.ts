import { type Bytes, encodePieces } from '../../support/bytes.ts';
import type { Json, JsonSource } from './json.ts';
import { START } from './outline.ts';
import { joinPieces, type Raw, sliceOf } from './raw.ts';
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

/** A long string and its place in the received text. */
type Found = { string: string; start: number; end: number };

/** Adds the long strings in the object or the list at `holder`, in their order. */
const addLong = (source: JsonSource, holder: number, value: unknown, found: Found[]): void => {
  const members = value as Record<string | number, unknown>;
  for (const { key, node, end } of childrenOf(source, holder, LONG)) {
    const member = members[key];
    if (typeof member !== 'string') addLong(source, node, member, found);
    else if (member.length >= LONG) {
      found.push({ string: member, start: source.nodes[node + START] ?? 0, end });
    }
  }
};

/** How many strings of one length are compared: those of a conversation are mostly written in their order. */
const TRIED = 4;

/** Returns a function that finds each string once. Not a map of strings, which reads each of them to hash it. */
const createFinder = (found: Found[]) => {
  const lists = new Map<number, { numbers: number[]; next: number }>();
  for (const [number, { string }] of found.entries()) {
    const list = lists.get(string.length);
    if (list) list.numbers.push(number);
    else lists.set(string.length, { numbers: [number], next: 0 });
  }
  return (string: string): number | undefined => {
    const list = lists.get(string.length);
    if (!list) return undefined;
    const { numbers, next } = list;
    const isIt = (number: number) => found[number]?.string === string;
    const at = numbers.slice(next, next + TRIED).findIndex(isIt);
    if (at === -1) return undefined;
    list.next = next + at + 1;
    return numbers[next + at];
  };
};

type Marking = { find: ReturnType<typeof createFinder>; isMarkable: boolean };

const markString = (string: string, marking: Marking): string => {
  const number = string.length < LONG ? undefined : marking.find(string);
  if (number !== undefined) return MARK + number;
  marking.isMarkable &&= string.isWellFormed();
  return string;
};

const markList = (items: unknown[], marking: Marking): unknown[] => {
  let list = items;
  for (let index = 0; index < items.length; index += 1) {
    const marked = markIn(items[index], marking);
    if (marked === items[index]) continue;
    if (list === items) list = [...items];
    list[index] = marked;
  }
  return list;
};

const markMembers = (members: Json, marking: Marking): Json => {
  let object = members;
  for (const name in members) {
    marking.isMarkable &&= name.isWellFormed();
    const marked = markIn(members[name], marking);
    if (marked === members[name]) continue;
    if (object === members) object = { ...members };
    object[name] = marked;
  }
  return object;
};

/** A value with marks for the strings that are found, which copies only what holds one. JSON.stringify asks a function slowly. */
const markIn = (value: unknown, marking: Marking): unknown => {
  if (typeof value === 'string') return markString(value, marking);
  if (typeof value !== 'object' || value === null || JSON.isRawJSON(value)) return value;
  return Array.isArray(value) ? markList(value, marking) : markMembers(value as Json, marking);
};

/** The JSON of an object, with each long string that `source` has as it was received there. */
export const moveStrings = (value: Json, source: JsonSource): Bytes => {
  const found: Found[] = [];
  addLong(source, 0, source.value, found);
  const marking: Marking = { find: createFinder(found), isMarkable: true };
  const marked = JSON.stringify(markIn(value, marking));
  // Half a pair, which only the arguments of a call can hold, looks like a mark.
  if (!marking.isMarkable) return encodePieces([JSON.stringify(value)]);
  const pieces: Raw[] = [];
  let written = 0;
  for (const { index, 0: mark, 1: number } of marked.matchAll(MARKS)) {
    const string = found[Number(number)];
    if (string) {
      pieces.push(marked.slice(written, index), sliceOf(source.raw, string.start, string.end));
    }
    written = index + mark.length;
  }
  pieces.push(marked.slice(written));
  return joinPieces(pieces, source);
};
