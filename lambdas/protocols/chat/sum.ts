import { asArray, asNumber, asRecord, asString, type Json } from '../bytes/json.ts';

/** Texts of a fragment that continue those of the fragments before it. */
const GROWING = ['text', 'summary', 'data', 'signature', 'transcript'];

/** Adds a fragment to what it continues, in place. */
const join = (one: Json, next: Json): Json => {
  for (const name in next) {
    // It would not be a member.
    if (name === '__proto__') continue;
    const value = next[name];
    const [begun, more] = [asString(one[name]), asString(value)];
    const isGrowing = GROWING.includes(name) && begun !== undefined && more !== undefined;
    one[name] = isGrowing ? begun + more : summed(one[name], value);
  }
  return one;
};

/** The item that a fragment continues. */
const itemOf = (list: unknown[], { index, type }: Json): Json | undefined =>
  asRecord(
    list.findLast((item) => {
      const one = asRecord(item);
      return one?.index === index && (type === undefined || one?.type === type);
    }),
  );

/** Adds to a list, in place: items are added, and fragments of one item joined. */
const append = (list: unknown[], added: unknown[]): unknown[] => {
  for (const item of added) {
    const next = asRecord(item);
    const known = next?.index === undefined ? undefined : itemOf(list, next);
    if (known && next) join(known, next);
    else list.push(item);
  }
  return list;
};

/** A member of several chunks, in place: lists grow, objects are joined, of others the last value counts. */
const summed = (known: unknown, value: unknown): unknown => {
  if (value === null && known !== undefined) return known;
  const [before, after] = [asRecord(known), asRecord(value)];
  if (before && after) return join(before, after);
  return Array.isArray(known) && Array.isArray(value) ? append(known, value) : value;
};

/** What a chunk says of all choices: of a list that is repeated, the last one counts. */
const addMembers = (sum: Json, chunk: Json): void => {
  for (const name in chunk) {
    if (name === 'choices' || name === '__proto__') continue;
    const value = chunk[name];
    sum[name] = summed(Array.isArray(value) ? undefined : sum[name], value);
  }
};

const withoutIndex = (call: unknown): unknown => {
  const { index: _, ...rest } = asRecord(call) ?? {};
  return rest;
};

/**
 * Adds up the chunks of a response as clients do, to a whole response with all of its members. Texts and arguments of calls
 * are left to the canonical form, which is written over it.
 */
export const createSum = () => {
  const sum: Json = {};
  const choices = new Map<number, Json>();
  return {
    add: (chunk: Json): void => {
      addMembers(sum, chunk);
      for (const one of asArray(chunk.choices)) {
        const { delta, message = delta, ...choice } = asRecord(one) ?? {};
        const index = asNumber(choice.index) ?? 0;
        choices.set(
          index,
          join(choices.get(index) ?? { index, message: {} }, { ...choice, message }),
        );
      }
    },
    value: (): Json => {
      for (const { message } of choices.values()) {
        const { tool_calls: calls } = asRecord(message) ?? {};
        if (Array.isArray(calls))
          Object.assign(asRecord(message) ?? {}, { tool_calls: calls.map(withoutIndex) });
      }
      const inOrder = [...choices].sort(([one], [other]) => one - other);
      return { ...sum, object: 'chat.completion', choices: inOrder.map(([, choice]) => choice) };
    },
  };
};
