/** Merges sources that each yield in descending order of `keyOf`, and reads of each only what is needed. */
export async function* mergeDescending<Item>(
  sources: AsyncGenerator<Item, void, void>[],
  keyOf: (item: Item) => string,
): AsyncGenerator<Item, void, void> {
  const read = async (source: AsyncGenerator<Item, void, void>) => {
    const { value, done } = await source.next();
    return done ? [] : [{ source, item: value, key: keyOf(value) }];
  };
  let heads = (await Promise.all(sources.map(read))).flat();
  for (;;) {
    const [first, ...rest] = heads;
    if (!first) return;
    const newest = rest.reduce((best, head) => (head.key > best.key ? head : best), first);
    yield newest.item;
    const next = await read(newest.source);
    heads = [...heads.filter((head) => head !== newest), ...next];
  }
}

/** Runs `step` for every item, one after another, whichever fails. @throws the first failure, after the last item */
export const forEachAlone = async <Item>(
  items: readonly Item[],
  step: (item: Item) => Promise<void>,
): Promise<void> => {
  const failures: unknown[] = [];
  for (const item of items) await step(item).catch((failure) => failures.push(failure));
  if (failures.length > 0) throw failures[0];
};

export const listOf = async <Item>(source: AsyncGenerator<Item, void, void>): Promise<Item[]> => {
  const items: Item[] = [];
  for await (const item of source) items.push(item);
  return items;
};
