import { isRecord } from './readers.ts';

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
