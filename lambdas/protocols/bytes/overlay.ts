import { isDeepStrictEqual } from 'node:util';
import { isRecord } from '../../support/readers.ts';
import { inside } from './edits.ts';
import type { Json } from './json.ts';
import { isSameJson } from './numbers.ts';
import { type Edit, remove, set } from './splice.ts';

/** Members that show the operator's account at a provider, and the name of every object's prototype. */
const HIDDEN = /cost|byok|billing|account|^(?:provider|organization|__proto__)$/;

/** Removes the members of an object of a response that callers must not see. */
export const hide = (received: unknown): Edit[] => {
  if (!isRecord(received)) return [];
  const edits: Edit[] = [];
  for (const name in received) if (HIDDEN.test(name)) edits.push(remove([name]));
  return edits;
};

/** The same at every level of the counts, which have no content. */
const hideAll = (received: unknown): Edit[] =>
  isRecord(received)
    ? [
        ...hide(received),
        ...Object.entries(received).flatMap(([name, value]) => inside([name], hideAll(value))),
      ]
    : [];

const editsTo = (wanted: unknown, received: unknown, name?: string): Edit[] => {
  if (isDeepStrictEqual(received, wanted)) return [];
  // The input of a call, whose members are the model's.
  if (name === 'input') return [set([], wanted)];
  if (isRecord(received) && isRecord(wanted)) return editsOver(received, wanted);
  const isList = Array.isArray(received) && Array.isArray(wanted);
  if (isList && received.length === wanted.length) {
    return wanted.flatMap((item, index) => inside([index], editsTo(item, received[index])));
  }
  return isSameJson(received, wanted) ? [] : [set([], wanted)];
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
export const editsOver = (received: Json, wanted: Json): Edit[] => {
  const memberEdits = (name: string, value: unknown): Edit[] => {
    const own = received[name];
    if (value === undefined) return own === undefined ? [] : [remove([])];
    if (value !== null) return editsTo(value, own, name);
    return mayReplaceNull(name, own) ? [] : [set([], null)];
  };
  return [
    ...hide(received),
    ...Object.entries(wanted).flatMap(([name, value]) => [
      ...(name === 'usage' ? inside([name], hideAll(received[name])) : []),
      ...inside([name], memberEdits(name, value)),
    ]),
  ];
};
