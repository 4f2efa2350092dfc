import type { Bytes } from '../../support/bytes.ts';
import { joinPieces, type Raw, sliceOf } from '../../support/bytes.ts';
import { oncePer } from '../../support/memo.ts';
import { asRecord, type Json, type JsonSource } from './json.ts';
import { END, NEXT, NODE, type Nodes, START } from './outline.ts';

/**
 * Strings are the bulk of an agent's body, and a string of JSON is the same text in every protocol: what is written holds
 * the received bytes of the long ones, and only the rest is written by the encoder.
 */

/** Characters of a string that takes longer to write than to find. */
const LONG = 512;

/** The number of a string behind an escape that JSON.stringify never writes. */
const markOf = oncePer(new Map<number, object>(), (at) => JSON.rawJSON(`"\\u006d${at}"`));
const MARKS = /"\\u006d(\d+)"/g;

/** A long string and its place in the received text. */
type Found = { string: string; start: number; end: number };

/** Values as they are written, from the first to the last; none of an object that lists names which are indices first. */
const valuesIn = (value: object): unknown[] => {
  if (Array.isArray(value)) return value;
  const isOrdered = !/^\d/.test(Object.keys(value)[0] ?? '');
  return isOrdered ? Object.values(value).filter((member) => member !== undefined) : [];
};

/** Adds the long strings in the object or the list at `holder`, in their order. */
const addLong = (nodes: Nodes, holder: number, value: object, found: Found[]): void => {
  const values = valuesIn(value);
  const last = nodes[holder + NEXT] ?? 0;
  for (let node = holder + NODE, index = 0; node < last; node = nodes[node + NEXT] ?? last) {
    const [start = 0, end = 0, member] = [nodes[node + START], nodes[node + END], values[index]];
    index += 1;
    if (end - start < LONG) continue;
    if (typeof member === 'object') addLong(nodes, node, member ?? {}, found);
    else if (typeof member === 'string' && member.length >= LONG) {
      found.push({ string: member, start, end });
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

type Find = ReturnType<typeof createFinder>;

const markString = (string: string, find: Find): unknown => {
  const number = string.length < LONG ? undefined : find(string);
  return number === undefined ? string : markOf(number);
};

const markList = (items: unknown[], find: Find): unknown[] => {
  let list = items;
  for (let index = 0; index < items.length; index += 1) {
    const marked = markIn(items[index], find);
    if (marked === items[index]) continue;
    if (list === items) list = [...items];
    list[index] = marked;
  }
  return list;
};

const markMembers = (members: Json, find: Find): Json => {
  let object = members;
  for (const name in members) {
    const marked = markIn(members[name], find);
    if (marked === members[name]) continue;
    if (object === members) object = { ...members };
    object[name] = marked;
  }
  return object;
};

/** A value with marks for the strings that are found, which copies only what holds one. JSON.stringify asks a function slowly. */
const markIn = (value: unknown, find: Find): unknown => {
  if (typeof value === 'string') return markString(value, find);
  if (typeof value !== 'object' || value === null || JSON.isRawJSON(value)) return value;
  return Array.isArray(value) ? markList(value, find) : markMembers(value as Json, find);
};

/** The JSON of an object, with each long string that `source` has as it was received there. */
export const moveStrings = (value: Json, source: JsonSource): Bytes => {
  const found: Found[] = [];
  addLong(source.nodes, 0, asRecord(source.value) ?? {}, found);
  const marked = JSON.stringify(markIn(value, createFinder(found)));
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
