import { isDeepStrictEqual } from 'node:util';
import { isRecord } from '../../support/readers.ts';
import type { Json } from './json.ts';
import { isSameJson } from './numbers.ts';
import { type Edit, remove, set } from './splice.ts';

type Path = Edit['path'];

/** Members that show the operator's account at a provider, and the name of every object's prototype. */
const HIDDEN = /cost|byok|billing|account|^(?:provider|organization|__proto__)$/;

/** Removes the members of an object of a response that callers must not see. */
export const hide = (received: unknown, path: Path = []): Edit[] => {
  if (!isRecord(received)) return [];
  const edits: Edit[] = [];
  for (const name in received) if (HIDDEN.test(name)) edits.push(remove([...path, name]));
  return edits;
};

/** The same at every level of the counts, which have no content. */
const hideAll = (received: unknown, path: Path): Edit[] => {
  const edits = hide(received, path);
  for (const [name, value] of Object.entries(isRecord(received) ? received : {})) {
    if (isRecord(value)) edits.push(...hideAll(value, [...path, name]));
  }
  return edits;
};

const editsAt = (received: unknown, wanted: unknown, path: Path): Edit[] => {
  if (isDeepStrictEqual(received, wanted)) return [];
  // The input of a call, whose members are the model's.
  if (path.at(-1) === 'input') return [set(path, wanted)];
  if (isRecord(received) && isRecord(wanted)) return editsOver(received, wanted, path);
  const isList = Array.isArray(received) && Array.isArray(wanted);
  if (isList && received.length === wanted.length) {
    return wanted.flatMap((item, index) => editsAt(received[index], item, [...path, index]));
  }
  return isSameJson(received, wanted) ? [] : [set(path, wanted)];
};

/** Members that are a text or null; others that may be null are objects. */
const TEXTS = ['content', 'refusal', 'stop_sequence', 'inference_geo', 'service_tier', 'speed'];

/** Whether a value may be where the canonical form has none: an empty text, or what only the protocol has. */
const mayReplaceNull = (name: string, value: unknown): boolean =>
  value === null || (TEXTS.includes(name) ? typeof value === 'string' : isRecord(value));

/**
 * What makes a received object of a response say what `wanted` says, at every level; its other members stay, without those
 * that callers must not see. A wanted null keeps what is of the member's type, and undefined removes a member.
 */
export const editsOver = (received: Json, wanted: Json, path: Path = []): Edit[] => {
  const edits = hide(received, path);
  for (const [name, value] of Object.entries(wanted)) {
    const at = [...path, name];
    if (name === 'usage') edits.push(...hideAll(received[name], at));
    if (value === undefined) edits.push(...(received[name] === undefined ? [] : [remove(at)]));
    else if (value !== null) edits.push(...editsAt(received[name], value, at));
    else if (!mayReplaceNull(name, received[name])) edits.push(set(at, null));
  }
  return edits;
};
