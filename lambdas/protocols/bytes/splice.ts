import type { Bytes } from '../../support/bytes.ts';
import type { JsonSource } from './json.ts';
import {
  END,
  FREE,
  NAME,
  NEXT,
  NODE,
  type Nodes,
  OPEN_LIST,
  OPEN_OBJECT,
  outlineOf,
  START,
} from './outline.ts';
import { codeAt, joinPieces, type Raw, sliceOf, textAt } from './raw.ts';

/** What is written at one place of a JSON text; a member that is absent, or the item behind the last one, is added. */
export type Edit = { path: readonly (string | number)[]; set?: unknown; remove?: true };

export const set = (path: Edit['path'], value: unknown): Edit => ({ path, set: value });
export const remove = (path: Edit['path']): Edit => ({ path, remove: true });

/** The edits of a value, and of what is in it. `isFound`: the text has the value. */
type Node = { edit: Edit | undefined; inner: Inner; isFound: boolean };
type Inner = Map<string | number, Node>;

const nodeOf = (edits: readonly Edit[]): Node => {
  const root: Node = { edit: undefined, inner: new Map(), isFound: true };
  for (const edit of edits) {
    let node = root;
    for (const key of edit.path) {
      let next = node.inner.get(key);
      if (!next) {
        next = { edit: undefined, inner: new Map(), isFound: false };
        node.inner.set(key, next);
      }
      node = next;
    }
    node.edit = edit;
  }
  return root;
};

// --- places in a text, which is valid JSON ---

const numberAt = (nodes: Nodes, node: number, offset: number): number => nodes[node + offset] ?? 0;

type Written = Pick<JsonSource, 'raw' | 'nodes'>;

/** A member or an item: from its name, or its value, to its end. */
type Child = { node: number; key: string | number; start: number; end: number };

const nameOf = ({ raw, nodes }: Written, node: number): string => {
  const text = textAt(raw, numberAt(nodes, node, NAME), numberAt(nodes, node, START));
  const name = text.slice(1, text.lastIndexOf('"'));
  return name.includes('\\') ? JSON.parse(`"${name}"`) : name;
};

// --- edits ---

/** What replaces a part of a text. */
type Cut = { start: number; end: number; text: string };

const isHolder = ({ raw }: Written, start: number): boolean => {
  const code = codeAt(raw, start);
  return code === OPEN_OBJECT || code === OPEN_LIST;
};

/** What is in an object or a list, of at least so many bytes: a name takes longer to read than to pass over. */
export const childrenOf = (text: Written, holder: number, least = 0): Child[] => {
  const { nodes } = text;
  const last = numberAt(nodes, holder, NEXT);
  const children: Child[] = [];
  let index = -1;
  for (let node = holder + NODE; node < last; node = numberAt(nodes, node, NEXT)) {
    index += 1;
    const [value, end] = [numberAt(nodes, node, START), numberAt(nodes, node, END)];
    if (end - value < least) continue;
    const name = numberAt(nodes, node, NAME);
    const isItem = name === -1;
    const key = isItem ? index : nameOf(text, node);
    children.push({ node, key, start: isItem ? value : name, end });
  }
  return children;
};

/** How a member of an object was written; empty if it has none of that name. */
export const memberText = (text: Written, name: string): string => {
  const member = childrenOf(text, 0).findLast(({ key }) => key === name);
  return member ? textAt(text.raw, numberAt(text.nodes, member.node, START), member.end) : '';
};

/** Of a member with this name or a longer one: from its name to its value. */
const shortestName = (inner: Inner): number => {
  let shortest = Number.POSITIVE_INFINITY;
  for (const key of inner.keys()) shortest = Math.min(shortest, String(key).length);
  return shortest + '"":'.length;
};

/** Where an object's or a list's children begin and end, and whether one of them is kept. */
type Holder = { from: number; to: number; isList: boolean; isKept: boolean };

/** Adds what is set in a holder that does not have it: members before its others, items behind them. */
const addInto = (inner: Inner, { from, to, isList, isKept }: Holder, cuts: Cut[]): void => {
  let text = '';
  for (const [name, { edit, isFound }] of inner) {
    if (isFound || !edit || edit.remove) continue;
    const comma = text === '' ? '' : ',';
    text += `${comma}${isList ? '' : `${JSON.stringify(name)}:`}${JSON.stringify(edit.set)}`;
  }
  if (text === '') return;
  const at = isList ? to : from;
  if (isKept) text = isList ? `,${text}` : `${text},`;
  cuts.push({ start: at, end: at, text });
};

/** A name, which is empty if it is too short. */
const nameOver = (text: Written, node: number, shortest: number): string =>
  numberAt(text.nodes, node, START) - numberAt(text.nodes, node, NAME) < shortest
    ? ''
    : nameOf(text, node);

/** Adds the cuts that make the edits of a value. */
const cutInto = (text: Written, node: number, { edit, inner }: Node, cuts: Cut[]): void => {
  const start = numberAt(text.nodes, node, START);
  if (edit) {
    cuts.push({ start, end: numberAt(text.nodes, node, END), text: JSON.stringify(edit.set) });
  } else if (isHolder(text, start)) cutWithin(text, node, inner, cuts);
};

/** What is cut out of an object or a list: a child goes with one comma next to it. */
const createRemovals = (from: number, cuts: Cut[]) => {
  let keptEnd: number | undefined;
  let cutFrom: number | undefined;
  return {
    remove: (): void => {
      cutFrom ??= keptEnd ?? from;
    },
    keep: (start: number, end: number): void => {
      const text = keptEnd === undefined ? '' : ',';
      if (cutFrom !== undefined) cuts.push({ start: cutFrom, end: start, text });
      [keptEnd, cutFrom] = [end, undefined];
    },
    /** Returns whether anything is kept. */
    end: (end: number): boolean => {
      if (cutFrom !== undefined) cuts.push({ start: cutFrom, end, text: '' });
      return keptEnd !== undefined;
    },
  };
};

/** Adds the cuts that make the edits within an object or a list; of its names it reads only those long enough for one of them. */
const cutWithin = (text: Written, holder: number, inner: Inner, cuts: Cut[]): void => {
  const { nodes } = text;
  const from = numberAt(nodes, holder, START) + 1;
  const isList = codeAt(text.raw, from - 1) === OPEN_LIST;
  const shortest = isList ? 0 : shortestName(inner);
  const removals = createRemovals(from, cuts);
  const last = numberAt(nodes, holder, NEXT);
  let [index, end] = [0, from];
  for (let node = holder + NODE; node < last; node = numberAt(nodes, node, NEXT)) {
    const start = numberAt(nodes, node, isList ? START : NAME);
    const within = inner.get(isList ? index : nameOver(text, node, shortest));
    index += 1;
    end = numberAt(nodes, node, END);
    if (within) within.isFound = true;
    if (within?.edit?.remove) removals.remove();
    else {
      removals.keep(start, end);
      if (within) cutInto(text, node, within, cuts);
    }
  }
  const to = numberAt(nodes, holder, END) - 1;
  addInto(inner, { from, to, isList, isKept: removals.end(end) }, cuts);
};

/** By their places; what is added comes before what is cut out at the same one. */
const inOrder = (cuts: Cut[]): Cut[] =>
  cuts.sort((one, other) => one.start - other.start || one.end - other.end);

const cutsOf = (text: Written, edits: readonly Edit[]): Cut[] => {
  const cuts: Cut[] = [];
  cutWithin(text, 0, nodeOf(edits).inner, cuts);
  return inOrder(cuts);
};

/** A JSON object's text with edits, everything else as it was written; without any the text itself. */
export const spliceText = (text: string, edits: readonly Edit[]): string => {
  if (edits.length === 0) return text;
  let [spliced, from] = ['', 0];
  for (const cut of cutsOf({ raw: text, nodes: outlineOf(text, FREE).nodes }, edits)) {
    spliced += text.slice(from, cut.start) + cut.text;
    from = cut.end;
  }
  return spliced + text.slice(from);
};

/** A received object with edits, everything else byte for byte; without any the received bytes or text. */
export const splice = (source: JsonSource, edits: readonly Edit[]): Bytes => {
  const { raw } = source;
  const pieces: Raw[] = [];
  let from = 0;
  for (const { start, end, text } of edits.length === 0 ? [] : cutsOf(source, edits)) {
    pieces.push(sliceOf(raw, from, start), text);
    from = end;
  }
  pieces.push(from === 0 ? raw : sliceOf(raw, from));
  return joinPieces(pieces, source);
};
