import type { Bytes } from '../../support/bytes.ts';
import type { JsonSource } from './json.ts';
import { endOfString } from './strings.ts';

/** What is written at one place of a JSON text; a member that is absent is added. */
export type Edit = { path: readonly (string | number)[]; set?: unknown; remove?: true };

export const set = (path: Edit['path'], value: unknown): Edit => ({ path, set: value });
export const remove = (path: Edit['path']): Edit => ({ path, remove: true });

/** The edits of a value, and of what is in it. */
type Node = { edit?: Edit; inner: Map<string | number, Node> };

const nodeOf = (edits: readonly Edit[]): Node => {
  const root: Node = { inner: new Map() };
  for (const edit of edits) {
    let node = root;
    for (const key of edit.path) {
      const next: Node = node.inner.get(key) ?? { inner: new Map() };
      node.inner.set(key, next);
      node = next;
    }
    node.edit = edit;
  }
  return root;
};

// --- places in a text, which is valid JSON ---

const SPACE = 0x20;

const afterSpace = (text: string, from: number): number => {
  let index = from;
  while (text.charCodeAt(index) <= SPACE) index += 1;
  return index;
};

const ENDS = /[,\]}\s]|$/g;

const endOfScalar = (text: string, from: number): number => {
  ENDS.lastIndex = from;
  return ENDS.exec(text)?.index ?? text.length;
};

const endOfContainer = (text: string, from: number): number => {
  let depth = 0;
  for (let index = from; ; index += 1) {
    const character = text[index];
    if (character === '"') index = endOfString(text, index + 1);
    else if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') {
      depth -= 1;
      if (depth === 0) return index + 1;
    }
  }
};

const endOfValue = (text: string, from: number): number => {
  const character = text[from];
  if (character === '"') return endOfString(text, from + 1) + 1;
  return character === '{' || character === '['
    ? endOfContainer(text, from)
    : endOfScalar(text, from);
};

/** A member or an item: from its name, or its value, to its end. */
type Child = { key: string | number; start: number; end: number };

const nameAt = (text: string, start: number, end: number): string => {
  const name = text.slice(start + 1, end);
  return name.includes('\\') ? JSON.parse(`"${name}"`) : name;
};

// --- edits ---

/** What replaces a part of a text. */
type Cut = { start: number; end: number; text: string };

/** Cuts out the removed children, each with one comma next to it. */
const removals = (children: Child[], isRemoved: (child: Child) => boolean, from: number): Cut[] => {
  const cuts: Cut[] = [];
  let kept: Child | undefined;
  let start: number | undefined;
  for (const child of children) {
    if (isRemoved(child)) start ??= kept?.end ?? from + 1;
    else {
      if (start !== undefined) cuts.push({ start, end: child.start, text: kept ? ',' : '' });
      [kept, start] = [child, undefined];
    }
  }
  const last = children.at(-1);
  if (start !== undefined && last) cuts.push({ start, end: last.end, text: '' });
  return cuts;
};

const additions = ({ inner }: Node, children: Child[]): string[] => {
  const names = new Set(children.map(({ key }) => key));
  return [...inner].flatMap(([name, { edit }]) =>
    edit === undefined || edit.remove || names.has(name)
      ? []
      : [`${JSON.stringify(name)}:${JSON.stringify(edit.set)}`],
  );
};

/** What an edit of a child, or those within it, cut out; returns where the child ends. Each text is passed once. */
const cutChild = (text: string, from: number, node: Node | undefined, cuts: Cut[]): number => {
  const isContainer = text[from] === '{' || text[from] === '[';
  if (node && !node.edit && isContainer) return cutWithin(text, from, node, cuts);
  const end = endOfValue(text, from);
  if (node?.edit && !node.edit.remove) {
    cuts.push({ start: from, end, text: JSON.stringify(node.edit.set) });
  }
  return end;
};

/** Adds the cuts that make the edits within the object or list at `from`; returns its end. */
const cutWithin = (text: string, from: number, node: Node, cuts: Cut[]): number => {
  const children: Child[] = [];
  const isList = text[from] === '[';
  let start = afterSpace(text, from + 1);
  while (text[start] !== '}' && text[start] !== ']') {
    const close = isList ? start : endOfString(text, start + 1);
    const key = isList ? children.length : nameAt(text, start, close);
    const value = isList ? start : afterSpace(text, afterSpace(text, close + 1) + 1);
    const end = cutChild(text, value, node.inner.get(key), cuts);
    children.push({ key, start, end });
    const next = afterSpace(text, end);
    start = text[next] === ',' ? afterSpace(text, next + 1) : next;
  }
  const isRemoved = ({ key }: Child) => node.inner.get(key)?.edit?.remove === true;
  cuts.push(...removals(children, isRemoved, from));
  const added = additions(node, children);
  if (added.length > 0) {
    const isAlone = children.every(isRemoved);
    cuts.push({ start: from + 1, end: from + 1, text: added.join(',') + (isAlone ? '' : ',') });
  }
  return start + 1;
};

/** By their places; what is added comes before what is cut out at the same one. */
const inOrder = (cuts: Cut[]): Cut[] =>
  cuts.sort((one, other) => one.start - other.start || one.end - other.end);

const cutsOf = (text: string, edits: readonly Edit[]): Cut[] => {
  const cuts: Cut[] = [];
  cutWithin(text, afterSpace(text, 0), nodeOf(edits), cuts);
  return inOrder(cuts);
};

const piecesOfText = (text: string, cuts: Cut[]): string[] => {
  const pieces: string[] = [];
  let from = 0;
  for (const cut of cuts) {
    pieces.push(text.slice(from, cut.start), cut.text);
    from = cut.end;
  }
  pieces.push(text.slice(from));
  return pieces;
};

const piecesOfBytes = (text: string, utf8: Uint8Array, cuts: Cut[]): Uint8Array[] => {
  const pieces: Uint8Array[] = [];
  // Of ASCII, a character is a byte.
  const isAscii = text.length === utf8.byteLength;
  const bytesOf = (start: number, end: number): number =>
    isAscii ? end - start : Buffer.byteLength(text.slice(start, end));
  let [from, at] = [0, 0];
  for (const { start, end, text: written } of cuts) {
    const next = at + bytesOf(from, start);
    pieces.push(utf8.subarray(at, next), Buffer.from(written));
    at = next + bytesOf(start, end);
    from = end;
  }
  pieces.push(utf8.subarray(at));
  return pieces.filter(({ byteLength }) => byteLength > 0);
};

/** A JSON object's text with edits, everything else as it was written; without any the text itself. */
export const spliceText = (text: string, edits: readonly Edit[]): string =>
  edits.length === 0 ? text : piecesOfText(text, cutsOf(text, edits)).join('');

/** Characters of a text that is encoded piece by piece: as one, Node reserves three bytes for each of them to send it. */
const LARGE_TEXT = 256_000;

const encodePieces = (pieces: string[]): Uint8Array[] =>
  pieces.filter((piece) => piece !== '').map((piece) => Buffer.from(piece));

/** A received object with edits, everything else byte for byte; without any the bytes themselves. */
export const splice = ({ text, utf8 }: JsonSource, edits: readonly Edit[]): Bytes => {
  if (utf8 === undefined) {
    if (text.length < LARGE_TEXT) return spliceText(text, edits);
    return encodePieces(edits.length === 0 ? [text] : piecesOfText(text, cutsOf(text, edits)));
  }
  if (edits.length === 0) return [utf8];
  return piecesOfBytes(text, utf8, cutsOf(text, edits));
};
