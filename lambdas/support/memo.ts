import { isRecord } from './objects.ts';

export type LruCache<Value> = {
  get(key: string): Value | undefined;
  set(key: string, value: Value): void;
  delete(key: string): void;
};

/**
 * A map that keeps the `capacity` entries that were used last, and fewer than that many others: callers cannot fill
 * memory. It has two generations, because to reinsert an entry on each read takes five times as long.
 */
export const createLruCache = <Value>(capacity: number): LruCache<Value> => {
  let recent = new Map<string, Value>();
  let earlier = new Map<string, Value>();
  const set = (key: string, value: Value): void => {
    recent.set(key, value);
    if (recent.size < capacity) return;
    earlier = recent;
    recent = new Map();
  };
  return {
    get: (key) => {
      const value = recent.get(key);
      if (value !== undefined) return value;
      const former = earlier.get(key);
      if (former !== undefined) set(key, former);
      return former;
    },
    set,
    delete: (key) => {
      recent.delete(key);
      earlier.delete(key);
    },
  };
};

type Values<Key, Value> = { get(key: Key): Value | undefined; set(key: Key, value: Value): void };

/**
 * Computes a value once for each key, and keeps it in `values`: a `Map`, a `WeakMap` of objects, or a bounded cache. `rest`: what
 * the value does not depend on.
 */
export const oncePer =
  <Key, Value extends {}, Rest extends unknown[] = []>(
    values: Values<Key, Value>,
    compute: (key: Key, ...rest: Rest) => Value,
  ): ((key: Key, ...rest: Rest) => Value) =>
  (key, ...rest) => {
    const known = values.get(key);
    if (known !== undefined) return known;
    const value = compute(key, ...rest);
    values.set(key, value);
    return value;
  };

/** Objects that later requests have too. What is computed of them is kept; of all others it would only be collected. */
const shared = new WeakSet<object>();

export const share = (value: object): void => {
  shared.add(value);
};

export const isShared = (value: object): boolean => shared.has(value);

/** Values of shared objects, for `oncePer`. */
export const createSharedValues = <Key extends object, Value>() => {
  const values = new WeakMap<Key, Value>();
  return {
    get: (key: Key): Value | undefined => values.get(key),
    set: (key: Key, value: Value): void => {
      if (shared.has(key)) values.set(key, value);
    },
  };
};

/** Reads a valid object that later requests have too only once. */
export const readOnce = <Value extends object, Issue>(
  schema: (value: unknown, issues: Issue[]) => Value,
): typeof schema => {
  const read = new WeakMap<object, Value>();
  return (value, issues) => {
    const known = isRecord(value) ? read.get(value) : undefined;
    if (known !== undefined) return known;
    const before = issues.length;
    const output = schema(value, issues);
    if (issues.length === before && isShared(value as object)) {
      read.set(value as object, output);
      share(output);
    }
    return output;
  };
};
