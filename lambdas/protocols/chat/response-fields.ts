import { isEmpty } from '../../support/omit-undefined.ts';
import { asRecord, asString, type Json } from '../bytes/json.ts';
import type { Extras, FinishReason } from '../generation.ts';
import { namesBeyond } from '../ledger/extras.ts';
import { NAME } from './name.ts';

/** Members of a response that have a canonical form, or that the router writes itself. */
const CANONICAL = {
  response: ['id', 'object', 'created', 'model', 'choices', 'usage', 'error', 'obfuscation'],
  choice: ['index', 'message', 'delta', 'logprobs', 'finish_reason', 'usage'],
  message: [
    ...['role', 'content', 'refusal', 'reasoning_content', 'reasoning'],
    ...['tool_calls', 'function_call', 'audio'],
  ],
};
type Place = keyof typeof CANONICAL;
const PLACES: Place[] = ['response', 'choice', 'message'];

/** Members of a fragment that continue those of the fragments before it. */
const GROWING = ['text', 'summary', 'data', 'signature'];

const isNext = (one: Json | undefined, next: Json): boolean =>
  one !== undefined &&
  next.index !== undefined &&
  one.index === next.index &&
  one.type === next.type;

/** Adds a fragment to the item before it, in place. */
const join = (one: Json, next: Json): void => {
  const grown = GROWING.flatMap((name): [string, unknown][] => {
    const [begun, more] = [asString(one[name]), asString(next[name])];
    return begun === undefined || more === undefined ? [] : [[name, begun + more]];
  });
  Object.assign(one, next, Object.fromEntries(grown));
};

/** Adds to a list of a stream, in place: items are added, and fragments of one item joined. */
const append = (list: unknown[], added: unknown[]): unknown[] => {
  for (const item of added) {
    const next = asRecord(item);
    const last = asRecord(list.at(-1));
    if (last && next && isNext(last, next)) join(last, next);
    else list.push(item);
  }
  return list;
};

/** A member of several chunks: a message's lists grow and objects are merged, both in place; of others the last value counts. */
const merged = (place: Place, known: unknown, value: unknown): unknown => {
  if (value === null && known !== undefined) return known;
  const [before, after] = [asRecord(known), asRecord(value)];
  if (before && after) return Object.assign(before, after);
  const isGrowing = place === 'message' && Array.isArray(known) && Array.isArray(value);
  return isGrowing ? append(known, value) : value;
};

/** Collects the members of all chunks that only this protocol has. */
export const createResponseFields = () => {
  const fields: Record<Place, Json> = { response: {}, choice: {}, message: {} };
  return {
    add: (place: Place, wire: Json) => {
      for (const name of namesBeyond(wire, CANONICAL[place])) {
        fields[place][name] = merged(place, fields[place][name], wire[name]);
      }
    },
    /** The reason with the fields, which only callers of this protocol get. */
    addTo: (reason: FinishReason): FinishReason =>
      PLACES.some((place) => !isEmpty(fields[place]))
        ? { ...reason, extras: { protocol: NAME, fields } }
        : reason,
  };
};

/** The fields by their place in a response; none of another protocol's. */
export const responseFieldsOf = (extras: Extras | undefined): Record<Place, Json> => {
  const { response, choice, message } = extras?.protocol === NAME ? extras.fields : {};
  return {
    response: asRecord(response) ?? {},
    choice: asRecord(choice) ?? {},
    message: asRecord(message) ?? {},
  };
};
