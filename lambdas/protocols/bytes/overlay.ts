import { isDeepStrictEqual } from 'node:util';
import { isRecord } from '../../support/objects.ts';
import { isSameJson, type Json } from './json.ts';
import { type Edit, remove, set } from './splice.ts';

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
