import { isDeepStrictEqual } from 'node:util';

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

/** A value that is computed when it is first asked for. */
export const once = <Value>(compute: () => Value): (() => Value) => {
  let value: Value | undefined;
  return () => {
    value ??= compute();
    return value;
  };
};

/** A function that is built when it is called for the first time: until then its part of the bundle is not loaded. */
export const atFirstCall = <Args extends unknown[], Result>(
  create: () => (...args: Args) => Result,
): ((...args: Args) => Result) => {
  const created = once(create);
  return (...args) => created()(...args);
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

type List = readonly unknown[];

/** As a constructor, it gives the members of its class to an object that exists. */
function holder(key: object): object {
  return key;
}
const Holder = holder as unknown as new (key: object) => object;

/**
 * A value of each object, as a `WeakMap` has it, in a private member of the object that nothing else sees: the collector looks at
 * each entry of a `WeakMap`, which was a twelfth of the CPU of an agent's 30 KB.
 */
export const createHidden = <Key extends object, Value>(): Values<Key, Value> =>
  class Hidden extends Holder {
    #value: Value;

    constructor(key: Key, value: Value) {
      super(key);
      this.#value = value;
    }

    static get(key: Key | Hidden): Value | undefined {
      return #value in key ? key.#value : undefined;
    }

    static set(key: Key | Hidden, value: Value): void {
      if (#value in key) key.#value = value;
      else new Hidden(key, value);
    }
  };

/**
 * What was computed of a list, by what computed it. Its first `items` are those of an earlier list, but for the first `led` of them.
 */
type Known = {
  earlier: Known | undefined;
  items: number;
  led: number;
  values: Map<object, Entry>;
  /** Of the same list behind others. */
  behind?: Known;
};

/** `rest`: what the values depend on apart from the items. */
type Entry = { values: unknown[]; rest: List };

/** Of lists that later ones begin as: what is computed of all others would only be collected. */
const lists = createHidden<List, Known>();

/** Of a list that begins as an earlier one, which forgets its own: else each step of a session would keep all those before it. */
const follows = (earlier: Known | undefined, items: number, led: number): Known => {
  if (earlier) earlier.earlier = undefined;
  return { earlier, items, led, values: new Map() };
};

/**
 * Keeps what is computed of a list for later ones that begin as it does. Its own first `items` are those of `earlier`, but for the
 * first `led` of them.
 */
export const keepItems = (list: List, earlier?: List, items = 0, led = 0): void => {
  const known = earlier && lists.get(earlier);
  if (known || !lists.get(list)) lists.set(list, follows(known, items, led));
};

/** A list behind one more item, which may differ from that of an earlier step: what is computed of the others is kept. */
export const behind = <Item>(first: Item, list: readonly Item[]): Item[] => {
  const all = [first, ...list];
  const known = lists.get(list);
  if (!known) return all;
  known.behind = follows(known.earlier?.behind, known.items + 1, 1);
  lists.set(all, known.behind);
  return all;
};

/** Most are the very same. */
const areEqual = (one: List, other: List): boolean =>
  one.every((each, index) => each === other[index] || isDeepStrictEqual(each, other[index]));

/**
 * Computes values of a list's items, which depend on `rest` too. Of a list that begins as an earlier one, `add` gets the values of the
 * items that both have, and adds the others. It returns whether they may be kept.
 */
export const growOnce =
  <Item, Value, Rest extends List, Context = void>(
    add: (values: Value[], list: readonly Item[], rest: Rest, context: Context) => boolean,
  ) =>
  (list: readonly Item[], rest: Rest, context: Context): Value[] => {
    const knownOf = (known: Known | undefined) => {
      const own = known?.values.get(add);
      return own && areEqual(own.rest, rest) ? own : undefined;
    };
    const known = lists.get(list);
    const own = knownOf(known);
    if (own) return own.values as Value[];
    const earlier = known && knownOf(known.earlier);
    let values: Value[] = [];
    if (earlier) {
      if (known.led > 0) add(values, list.slice(0, known.led), rest, context);
      values = values.concat(earlier.values.slice(known.led, known.items) as Value[]);
    }
    if (add(values, list, rest, context) && known) {
      known.values.set(add, { values, rest });
      keepItems(values, earlier?.values, known.items, known.led);
    }
    return values;
  };

/** Maps each item only once, of lists that begin as earlier ones. `rest`: what the value depends on apart from the item. */
export const mapOnce = <Item, Value, Rest extends unknown[] = []>(
  compute: (item: Item, index: number, ...rest: Rest) => Value,
) => {
  const grown = growOnce<Item, Value, Rest>((values, list, rest) => {
    for (let index = values.length; index < list.length; index += 1) {
      values.push(compute(list[index] as Item, index, ...rest));
    }
    return true;
  });
  return (list: readonly Item[], ...rest: Rest): Value[] => grown(list, rest);
};
