import { isRecord, withoutSpelling } from '../../support/readers.ts';
import { FREE, outlineOf, type Place } from './outline.ts';
import { type Raw, textAt } from './raw.ts';

/**
 * Numbers stay as they were written until the router computes with them: `1849173641234567891` is an id of a caller's tool,
 * and the nearest number of JavaScript is another id.
 */

/** What may hold a number that JavaScript writes in another way; a text in quotes may look so too. */
const SUSPECT = /(?:^|[:,[])\s*-?(?:0(?<=-0)|\d+[.eE]|\d{16})/;

const keyAt = (raw: Raw, [start, end]: Place['steps'][number]): string | number =>
  start < 0 ? -1 - start : JSON.parse(textAt(raw, start, end));

const memberOf = (holder: unknown, key: string | number): unknown =>
  typeof holder === 'object' && holder !== null && Object.hasOwn(holder, key)
    ? (holder as Record<string | number, unknown>)[key]
    : undefined;

/** The parsed `raw` with the numbers at `places` as they were written. Of a repeated name the last one was read. */
export const withWrittenNumbers = (raw: Raw, value: unknown, places: Place[]): unknown => {
  let root = value;
  for (const { steps, start, end } of places) {
    const keys = steps.map((step) => keyAt(raw, step));
    const source = textAt(raw, start, end);
    const last = keys.pop();
    const holder = keys.reduce(memberOf, root);
    const read = last === undefined ? root : memberOf(holder, last);
    if (!Object.is(read, Number(source))) continue;
    const written = JSON.rawJSON(source);
    if (last === undefined) root = written;
    else (holder as Record<string | number, unknown>)[last] = written;
  }
  return root;
};

/** JSON.parse, with numbers as they were written, but for those of a text of more than 1,000 levels. @throws SyntaxError */
export const parseWritten = (text: string): unknown => {
  const value: unknown = JSON.parse(text);
  if (!SUSPECT.test(text)) return value;
  return withWrittenNumbers(text, value, outlineOf(text, FREE).places);
};

/** Whether two values are the same JSON but for the spelling of numbers, and for members that are null or undefined. */
export const isSameJson = (one: unknown, other: unknown): boolean => {
  if (one === other) return true;
  const [left, right] = [withoutSpelling(one), withoutSpelling(other)];
  if (!isRecord(left) || !isRecord(right)) {
    const isList = Array.isArray(left) && Array.isArray(right) && left.length === right.length;
    if (isList) return left.every((item, index) => isSameJson(item, right[index]));
    return left === right || (left == null && right == null);
  }
  const names = new Set([...Object.keys(left), ...Object.keys(right)]);
  return [...names].every((name) => isSameJson(left[name], right[name]));
};
