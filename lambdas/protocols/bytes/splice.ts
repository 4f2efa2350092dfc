import type { Bytes } from '../../support/bytes.ts';
import { codeAt, joinPieces, type Raw, sliceOf, textAt } from '../../support/bytes.ts';
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

/** What is written at one place of a JSON text; a member that is absent, or the item behind the last one, is added. */
export type Edit = { path: readonly (string | number)[]; set?: unknown; remove?: true };

export const set = (path: Edit['path'], value: unknown): Edit => ({ path, set: value });
export const remove = (path: Edit['path']): Edit => ({ path, remove: true });

/** The edits of a value, and of what is in it. */
type Node = { edit?: Edit; inner: Map<string | number, Node>; isFound?: true };

const nodeOf = (edits: readonly Edit[]): Node => {
  const root: Node = { inner: new Map() };
  for (const edit of edits) {
    let node = root;
    for (const key of edit.path) {
      const next: Node = node.inner.get(key) ?? { inner: new Map() };
      if (next.inner.size === 0) node.inner.set(key, next);
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

/** Members of an object, or items behind the last one of a list. */
const additions = ({ inner }: Node, isList: boolean): string => {
  let added = '';
  for (const [name, { edit, isFound }] of inner) {
    if (isFound || !edit || edit.remove) continue;
    const comma = added === '' ? '' : ',';
    added += `${comma}${isList ? '' : `${JSON.stringify(name)}:`}${JSON.stringify(edit.set)}`;
  }
  return added;
};

const isHolder = ({ raw }: Written, start: number): boolean => {
  const code = codeAt(raw, start);
  return code === OPEN_OBJECT || code === OPEN_LIST;
};

/** The index or the name of a child: empty if the name has fewer than `letters`, as it takes longer to read than to pass over. */
const keyOf = (text: Written, node: number, index: number, letters: number): string | number => {
  const name = numberAt(text.nodes, node, NAME);
  if (name === -1) return index;
  const isLong = numberAt(text.nodes, node, START) - name >= letters + '"":'.length;
  return isLong ? nameOf(text, node) : '';
};

/** What is in an object or a list. */
export const childrenOf = (text: Written, holder: number): Child[] => {
  const { nodes } = text;
  const last = numberAt(nodes, holder, NEXT);
  const children: Child[] = [];
  for (let node = holder + NODE; node < last; node = numberAt(nodes, node, NEXT)) {
    const name = numberAt(nodes, node, NAME);
    const start = name === -1 ? numberAt(nodes, node, START) : name;
    const key = keyOf(text, node, children.length, 0);
    children.push({ node, key, start, end: numberAt(nodes, node, END) });
  }
  return children;
};

/** How a member of an object was written; empty if it has none of that name. */
export const memberText = (text: Written, name: string): string => {
  const member = childrenOf(text, 0).findLast(({ key }) => key === name);
  return member ? textAt(text.raw, numberAt(text.nodes, member.node, START), member.end) : '';
};

/** Adds the cuts that make the edits of a child. */
const cutAt = (text: Written, node: number, edited: Node, cuts: Cut[]): void => {
  const start = numberAt(text.nodes, node, START);
  edited.isFound = true;
  if (!edited.edit && isHolder(text, start)) cutWithin(text, node, edited, cuts);
  else if (edited.edit && !edited.edit.remove) {
    const end = numberAt(text.nodes, node, END);
    cuts.push({ start, end, text: JSON.stringify(edited.edit.set) });
  }
};

/** Adds the cuts that make the edits within an object or a list. */
const cutWithin = (text: Written, holder: number, within: Node, cuts: Cut[]): void => {
  const { nodes } = text;
  let [letters, removes] = [Number.POSITIVE_INFINITY, false];
  for (const [key, { edit }] of within.inner) {
    letters = Math.min(letters, String(key).length);
    removes ||= edit?.remove === true;
  }
  const last = numberAt(nodes, holder, NEXT);
  for (let node = holder + NODE, index = 0; node < last; index += 1) {
    const edited = within.inner.get(keyOf(text, node, index, letters));
    if (edited) cutAt(text, node, edited, cuts);
    node = numberAt(nodes, node, NEXT);
  }
  const from = numberAt(nodes, holder, START);
  const isList = codeAt(text.raw, from) === OPEN_LIST;
  const added = additions(within, isList);
  if (added === '' && !removes) return;
  const children = childrenOf(text, holder);
  const isRemoved = ({ key }: Child) => within.inner.get(key)?.edit?.remove === true;
  if (removes) cuts.push(...removals(children, isRemoved, from));
  if (added === '') return;
  const comma = children.every(isRemoved) ? '' : ',';
  const at = isList ? numberAt(nodes, holder, END) - 1 : from + 1;
  cuts.push({ start: at, end: at, text: isList ? comma + added : added + comma });
};

/** By their places; what is added comes before what is cut out at the same one. */
const inOrder = (cuts: Cut[]): Cut[] =>
  cuts.sort((one, other) => one.start - other.start || one.end - other.end);

const cutsOf = (text: Written, edits: readonly Edit[]): Cut[] => {
  const cuts: Cut[] = [];
  cutWithin(text, 0, nodeOf(edits), cuts);
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
