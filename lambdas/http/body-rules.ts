import type { Json } from '../protocols/bytes/json.ts';
import type { Limits } from '../protocols/bytes/outline.ts';
import { invalidRequest } from '../support/errors.ts';

export const invalidBody = (problem: string, options?: Parameters<typeof invalidRequest>[1]) =>
  invalidRequest(`The request body ${problem}`, options);

/** Those of a body. */
export const LIMITS: Limits = {
  // JSON.parse takes millions of levels, but code that walks the value afterwards overflows its stack.
  depth: 64,
  // Of one object. Checking and copying one takes some microseconds: 300,000 of them took seconds.
  members: 10_000,
  // Of the whole body: 10,000 messages of two parts each have 90,000. Distinct keys cost the most; 100,000 of
  // them block the process for up to 150 ms, 2.6 million values did for a second.
  values: 100_000,
};

export const EXCEEDED: Record<keyof Limits, string> = {
  depth: 'is nested deeper than 64 levels.',
  members: 'holds an object of more than 10,000 members.',
  values: 'holds more than 100,000 values.',
};

/** Half a surrogate pair has no UTF-8 form: sent on, it would silently become another character. */
const assertWellFormed = (text: string): void => {
  if (!text.isWellFormed()) throw invalidBody('contains an unpaired UTF-16 surrogate.');
};

/** An ordinary key to JSON.parse, and a prototype to some of what runs later: it is removed. */
const PROTOTYPE = '__proto__';

export type Cleaning = { hasEscapes: boolean; removed: Set<string> };

/**
 * Returns how many members the objects in a value have, without those that it removes.
 * @throws ApiError 400 for half a surrogate pair, which only an escape can write
 */
export const cleaned = (value: unknown, cleaning: Cleaning): number => {
  const { hasEscapes, removed } = cleaning;
  if (hasEscapes && typeof value === 'string') assertWellFormed(value);
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) count += cleaned(item, cleaning);
    return count;
  }
  const object = value as Json;
  for (const name in object) {
    if (hasEscapes) assertWellFormed(name);
    if (name === PROTOTYPE) {
      Reflect.deleteProperty(object, name);
      removed.add(name);
    } else count += 1 + cleaned(object[name], cleaning);
  }
  return count;
};
