type Values<Key, Value> = { get(key: Key): Value | undefined; set(key: Key, value: Value): void };

/** Computes a value once for each key, and keeps it in `values`: a `Map`, a `WeakMap` of objects, or a bounded cache. */
export const oncePer =
  <Key, Value extends {}>(
    values: Values<Key, Value>,
    compute: (key: Key) => Value,
  ): ((key: Key) => Value) =>
  (key) => {
    const known = values.get(key);
    if (known !== undefined) return known;
    const value = compute(key);
    values.set(key, value);
    return value;
  };
