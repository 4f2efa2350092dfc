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
