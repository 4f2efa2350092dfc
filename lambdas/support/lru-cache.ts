export type LruCache<Value> = {
  get(key: string): Value | undefined;
  set(key: string, value: Value): void;
  delete(key: string): void;
};

/** A map that forgets the least recently used entry beyond `capacity`, so that callers cannot fill the memory. */
export const createLruCache = <Value>(capacity: number): LruCache<Value> => {
  const entries = new Map<string, Value>();
  return {
    get: (key) => {
      const value = entries.get(key);
      if (value === undefined) return undefined;
      // A Map iterates in the order of insertion: reinsert what was used.
      entries.delete(key);
      entries.set(key, value);
      return value;
    },
    set: (key, value) => {
      entries.delete(key);
      entries.set(key, value);
      for (const oldest of entries.keys()) {
        if (entries.size <= capacity) break;
        entries.delete(oldest);
      }
    },
    delete: (key) => {
      entries.delete(key);
    },
  };
};
