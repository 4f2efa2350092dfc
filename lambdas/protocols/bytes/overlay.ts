import { isDeepStrictEqual } from 'node:util';
import { isRecord } from '../../support/readers.ts';
import type { Json } from './json.ts';
import { isSameJson } from './numbers.ts';
import { type Edit, remove, set } from './splice.ts';

/** Members that show the operator's account at a provider, and the name of every object's prototype. */
const HIDDEN = /cost|byok|billing|account|^(?:provider|organization|__proto__)$/;

/** Clients join it to a text. */
const isNoText = (name: string, value: unknown): boolean =>
  name === 'reasoning_content' && value !== null && typeof value !== 'string';

/** Removes the members of an object of a response that callers must not see, or cannot read. */
export const hide = (received: unknown, path: Edit['path'] = []): Edit[] => {
  if (!isRecord(received)) return [];
  const edits: Edit[] = [];
  for (const name in received) {
    if (HIDDEN.test(name) || isNoText(name, received[name])) edits.push(remove([...path, name]));
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

/** Members that are a text or null; others that may be null are objects. */
const TEXTS = ['content', 'refusal', 'stop_sequence', 'inference_geo', 'service_tier', 'speed'];

/** Whether a value may be where the canonical form has none: an empty text, or what only the protocol has. */
const mayReplaceNull = (name: string, value: unknown): boolean =>
  value === null || (TEXTS.includes(name) ? typeof value === 'string' : isRecord(value));

const addEditsOver = (edits: Edit[], received: Json, wanted: Json, path: Edit['path']): void => {
  edits.push(...hide(received, path));
  for (const name in wanted) {
    const [own, value, place] = [received[name], wanted[name], [...path, name]];
    if (name === 'usage') addHidden(edits, own, place);
    if (value === undefined) {
      if (own !== undefined) edits.push(remove(place));
    } else if (value !== null) addEdits(edits, value, own, place);
    else if (!mayReplaceNull(name, own)) edits.push(set(place, null));
  }
};

/**
 * What makes a received object of a response say what `wanted` says, at every level; its other members stay, without those
 * that callers must not see. A wanted null keeps what is of the member's type, and undefined removes a member.
 */
export const editsOver = (received: Json, wanted: Json): Edit[] => {
  const edits: Edit[] = [];
  addEditsOver(edits, received, wanted, []);
  return edits;
};
