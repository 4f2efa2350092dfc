import { isDeepStrictEqual } from 'node:util';
import { isRecord } from '../../support/objects.ts';
import { asArray, asRecord, isSameJson, type Json } from './json.ts';
import { type Edit, remove, set } from './splice.ts';

/** The edits of a part as those of what holds it at `path`; a part itself is at the empty path. */
export const inside = (path: Edit['path'], edits: Edit[]): Edit[] =>
  edits.map((edit) => ({ ...edit, path: [...path, ...edit.path] }));

/** The edits of the items of the list `name`, as those of its holder. */
export const insideEach = (
  holder: Json,
  name: string,
  editsOf: (item: Json, index: number) => Edit[],
): Edit[] => {
  const edits: Edit[] = [];
  for (const [index, item] of asArray(holder[name]).entries()) {
    for (const { path, ...edit } of editsOf(asRecord(item) ?? {}, index)) {
      edits.push({ ...edit, path: [name, index, ...path] });
    }
  }
  return edits;
};

/** Writes each wanted member unless it is that already; undefined removes it. */
export const setMembers = (received: Json, wanted: Json): Edit[] =>
  Object.entries(wanted).flatMap(([name, value]) => {
    if (isSameJson(received[name], value)) return [];
    return [value === undefined ? remove([name]) : set([name], value)];
  });

/** Of whichever value: strict providers reject a member also where it is null. */
export const removeMember = (holder: Json, name: string): Edit[] =>
  name in holder ? [remove([name])] : [];

/** A value that is not written yet with an edit. Of a list, only items are set. */
const editedFrom = (level: number, value: unknown, edit: Edit): unknown => {
  const key = edit.path[level] ?? '';
  const copy = (Array.isArray(value) ? [...value] : { ...(value as Json) }) as Json;
  if (level + 1 < edit.path.length) copy[key] = editedFrom(level + 1, copy[key], edit);
  else if (edit.remove) delete copy[key];
  else copy[key] = edit.set;
  return copy;
};

export const withEdit = (value: unknown, edit: Edit): unknown => editedFrom(0, value, edit);

export const withEdits = (value: Json, edits: Edit[]): Json =>
  edits.reduce<Json>((edited, edit) => withEdit(edited, edit) as Json, value);

/** A message, or a part, with a text as its one part: vendors read both alike. */
const withParts = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withParts);
  const content = asRecord(value)?.content;
  if (typeof content === 'string') {
    return { ...(value as Json), content: [{ type: 'text', text: content }] };
  }
  return Array.isArray(content) ? { ...(value as Json), content: withParts(content) } : value;
};

/** Makes a list of messages what `wanted` is; those that mean the same stay as they were written. */
export const editMessages = (received: unknown[], wanted: unknown[]): Edit[] => [
  ...wanted.flatMap((message, index) =>
    isSameJson(withParts(received[index]), withParts(message))
      ? inside(['messages', index], withoutNulls(asRecord(received[index]) ?? {}, 'content'))
      : [set(['messages', index], message)],
  ),
  ...received.slice(wanted.length).map((_, index) => remove(['messages', wanted.length + index])),
];

/** Clients write null for what they do not set; some providers reject it. */
export const withoutNulls = (received: Json, kept?: string): Edit[] => {
  const edits: Edit[] = [];
  for (const name in received) {
    if (received[name] === null && name !== kept) edits.push(remove([name]));
  }
  return edits;
};

/** Whether a text has only white space: a vendor rejects one without a visible character. */
export const isBlankText = (value: unknown): boolean =>
  typeof value === 'string' ? !/\S/.test(value) : false;

// --- what a received object of a response is to say ---

/** Members that show the operator's account at a provider, and the name of every object's prototype. */
const HIDDEN = /cost|byok|billing|account|^(?:provider|organization|__proto__)$/;

/** Removes the members of an object of a response that callers must not see. */
export const hide = (received: unknown, path: Edit['path'] = []): Edit[] => {
  if (!isRecord(received)) return [];
  const edits: Edit[] = [];
  for (const name in received) {
    if (HIDDEN.test(name)) edits.push(remove([...path, name]));
  }
  return edits;
};

/** The same at every level of the counts, which have no content. */
const addHidden = (edits: Edit[], received: unknown, path: Edit['path']): void => {
  if (!isRecord(received)) return;
  edits.push(...hide(received, path));
  for (const name in received) addHidden(edits, received[name], [...path, name]);
};

const addEdits = (edits: Edit[], wanted: unknown, received: unknown, path: Edit['path']): void => {
  if (received === wanted || isDeepStrictEqual(received, wanted)) return;
  // The input of a call, whose members are the model's.
  if (path.at(-1) === 'input') edits.push(set(path, wanted));
  else if (isRecord(received) && isRecord(wanted)) addEditsOver(edits, received, wanted, path);
  else if (Array.isArray(received) && Array.isArray(wanted) && received.length === wanted.length) {
    wanted.forEach((item, index) => {
      addEdits(edits, item, received[index], [...path, index]);
    });
  } else if (!isSameJson(received, wanted)) edits.push(set(path, wanted));
};

const addEditsOver = (edits: Edit[], received: Json, wanted: Json, path: Edit['path']): void => {
  edits.push(...hide(received, path));
  for (const name in wanted) {
    const [own, value, place] = [received[name], wanted[name], [...path, name]];
    if (name === 'usage') addHidden(edits, own, place);
    if (value === undefined) {
      if (own !== undefined) edits.push(remove(place));
    } else if (value !== null) addEdits(edits, value, own, place);
    else if (own === undefined) edits.push(set(place, null));
  }
};

// --- types ---

/**
 * What clients read of a value in a response: whether it is of their type. Adds the paths of what it holds of another type, of
 * the members that have a shape; any other is sent, as a vendor may add it tomorrow.
 */
export type Shape = (value: unknown, misfits: (string | number)[][]) => boolean;

export const text: Shape = (value) => typeof value === 'string';

export const orNull =
  (shape: Shape): Shape =>
  (value, misfits) =>
    value === null || shape(value, misfits);

const checkAt = (
  key: string | number,
  shape: Shape,
  value: unknown,
  misfits: (string | number)[][],
): void => {
  const before = misfits.length;
  if (!shape(value, misfits)) misfits.push([]);
  for (let index = before; index < misfits.length; index += 1) misfits[index]?.unshift(key);
};

export const listOf =
  (item: Shape): Shape =>
  (value, misfits) => {
    if (!Array.isArray(value)) return false;
    for (let index = 0; index < value.length; index += 1) {
      checkAt(index, item, value[index], misfits);
    }
    return true;
  };

/** Any of the members may be absent. */
export const objectOf = (shapes: Record<string, Shape>): Shape => {
  const known = Object.entries(shapes);
  return (value, misfits) => {
    if (!isRecord(value)) return false;
    for (const [name, shape] of known) {
      if (value[name] !== undefined) checkAt(name, shape, value[name], misfits);
    }
    return true;
  };
};

/** What is not of its type is null where `wanted` is, or left out. */
const typeEdits = (received: Json, wanted: Json, shape: Shape): Edit[] => {
  const misfits: (string | number)[][] = [];
  shape(received, misfits);
  return misfits.map((path) => {
    const value = path.reduce<unknown>((at, key) => (at as Json | undefined)?.[key], wanted);
    return value === null ? set(path, null) : remove(path);
  });
};

/**
 * What makes a received object of a response say what `wanted` says, at every level; its other members stay, without those
 * that callers must not see or that are not of `shape`. A wanted null keeps what is there, and undefined removes a member.
 */
export const editsOver = (received: Json, wanted: Json, shape?: Shape): Edit[] => {
  const edits = shape ? typeEdits(received, wanted, shape) : [];
  addEditsOver(edits, received, wanted, []);
  return edits;
};
