import { extrasIfAny } from '../extras.ts';
import type { Extras, FinishReason } from '../generation.ts';
import { asArray, asRecord, asString, type Json } from '../json.ts';
import { NAME } from './name.ts';

/**
 * Fields next to the content of a response, by their names in the vendor's types and at providers whose
 * product they are. Other fields may expose the operator's account, such as costs.
 */
const OF_RESPONSE = [
  'service_tier',
  'system_fingerprint',
  'citations',
  'search_results',
  'related_questions',
];
const OF_MESSAGE = ['annotations', 'reasoning_details', 'images'];

const pick = (wire: Json, names: string[]): Json =>
  Object.fromEntries(names.flatMap((name) => (wire[name] == null ? [] : [[name, wire[name]]])));

/** Members of a fragment that continue those of the fragments before it. */
const GROWING = ['text', 'summary', 'data', 'signature'];

const isNext = (one: Json | undefined, next: Json): boolean =>
  one !== undefined &&
  next.index !== undefined &&
  one.index === next.index &&
  one.type === next.type;

const joined = (one: Json, next: Json): Json => {
  const grown = GROWING.flatMap((name): [string, unknown][] => {
    const [begun, more] = [asString(one[name]), asString(next[name])];
    return begun === undefined || more === undefined ? [] : [[name, begun + more]];
  });
  return { ...one, ...next, ...Object.fromEntries(grown) };
};

/** A list of a stream: items are added, and fragments of one item joined. */
const append = (items: Json[], added: unknown): Json[] => {
  const list = [...items];
  for (const item of asArray(added)) {
    const next = asRecord(item) ?? {};
    const last = list.at(-1);
    if (last && isNext(last, next)) list[list.length - 1] = joined(last, next);
    else list.push(next);
  }
  return list;
};

/** Collects the fields of all chunks; those of the response are the last one's. */
export const createResponseFields = () => {
  let response: Json = {};
  const lists = new Map<string, Json[]>();
  return {
    add: (wire: Json, message: Json) => {
      response = { ...response, ...pick(wire, OF_RESPONSE) };
      for (const [name, items] of Object.entries(pick(message, OF_MESSAGE))) {
        lists.set(name, append(lists.get(name) ?? [], items));
      }
    },
    /** The reason with the fields, which only callers of this protocol get. */
    addTo: (reason: FinishReason): FinishReason => {
      const message = Object.fromEntries([...lists].filter(([, items]) => items.length > 0));
      const some = (fields: Json) => (Object.keys(fields).length > 0 ? fields : undefined);
      return {
        ...reason,
        ...extrasIfAny(NAME, { response: some(response), message: some(message) }),
      };
    },
  };
};

/** The fields by their place in a response; none of another protocol's. */
export const responseFieldsOf = (extras: Extras | undefined): { response: Json; message: Json } => {
  const fields = extras?.protocol === NAME ? extras.fields : {};
  return { response: asRecord(fields.response) ?? {}, message: asRecord(fields.message) ?? {} };
};
