/** Items that one response looks through at most: it has 29 s. */
const MAX_READ = 20_000;

type PageOptions<Item> = {
  limit: number;
  isWanted(item: Item): boolean;
  /** The cursor that continues after the item. */
  placeOf(item: Item): string;
};

/**
 * The first `limit` wanted items of a list. `next_cursor` is null at the end of the list; a page may hold fewer
 * items, or none, and have a next one.
 */
export const readPage = async <Item>(
  items: AsyncIterable<Item>,
  { limit, isWanted, placeOf }: PageOptions<Item>,
): Promise<{ data: Item[]; next_cursor: string | null }> => {
  const data: Item[] = [];
  let cursor: string | null = null;
  let read = 0;
  for await (const item of items) {
    if (data.length >= limit || read >= MAX_READ) return { data, next_cursor: cursor };
    read += 1;
    cursor = placeOf(item);
    if (isWanted(item)) data.push(item);
  }
  return { data, next_cursor: null };
};
