import { asRecord, asString, type Json, readJsonObject } from '../bytes/json.ts';

/** What two values of a block's member add up to: texts and lists grow, of others the later one counts. */
const summed = (known: unknown, value: unknown): unknown => {
  if (typeof known === 'string' && typeof value === 'string') return known + value;
  return Array.isArray(known) && Array.isArray(value) ? known.concat(value) : value;
};

const addDelta = (block: Json, { type: _, citation, partial_json, ...delta }: Json): void => {
  if (citation !== undefined) delta.citations = [citation];
  if (partial_json !== undefined) delta.input = partial_json;
  for (const [name, value] of Object.entries(delta)) {
    // It would not be a member.
    if (name !== '__proto__') block[name] = summed(block[name], value);
  }
};

/**
 * Adds up the events of a message as clients do, to a whole message with all of its members. The canonical form, which has
 * its texts and the input of calls, is written over it.
 */
export const createSum = () => {
  let sum: Json = {};
  const blocks = new Map<unknown, Json>();

  /** Of a block that the vendor runs itself; that of a call is in the canonical form. */
  const readInput = (block: Json): void => {
    const text = asString(block.input);
    if (text !== undefined) block.input = readJsonObject(text) ?? {};
  };

  return {
    add: (event: Json): void => {
      const { type, index, message, content_block, delta, usage, ...rest } = event;
      const block = blocks.get(index);
      if (type === 'message_start') sum = { ...asRecord(message), ...sum };
      else if (type === 'content_block_start') blocks.set(index, { ...asRecord(content_block) });
      else if (type === 'content_block_delta' && block) addDelta(block, asRecord(delta) ?? {});
      else if (type === 'message_delta') {
        const counts = { ...asRecord(sum.usage), ...asRecord(usage) };
        sum = { ...sum, ...asRecord(delta), ...rest, usage: counts };
      }
    },
    value: (): Json => {
      for (const block of blocks.values()) readInput(block);
      return { ...sum, content: [...blocks.values()] };
    },
  };
};
