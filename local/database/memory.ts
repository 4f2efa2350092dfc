import type { Item } from '../../lambdas/stores/dynamo/dynamo-client.ts';
import { oncePer } from '../../lambdas/support/memo.ts';
import { KEYS_BY_PROJECT, PARTITION_KEY, SORT_KEY, TTL_ATTRIBUTE } from '../../lambdas/tables.ts';
import { type ItemDatabase, type ItemPlace, type ItemRange, listOf } from './item-database.ts';

/** The sort keys of a partition in order, and its items. */
type Partition = { sorts: string[]; items: Map<string, Item> };

/** Index of the first element that is not before `sort`. */
const firstAt = (sorts: string[], sort: string): number => {
  let low = 0;
  let high = sorts.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorts[middle] ?? '') < sort) low = middle + 1;
    else high = middle;
  }
  return low;
};

/** What is between the bounds, and behind `after`; `sorts` are in ascending order. */
const within = (
  sorts: string[],
  { from, to, after, isDescending = false, limit }: Omit<ItemRange, 'partition'>,
): string[] => {
  let first = from === undefined ? 0 : firstAt(sorts, from);
  let end = to === undefined ? sorts.length : firstAt(sorts, `${to}\0`);
  if (after) {
    if (isDescending) end = Math.min(end, firstAt(sorts, after.sort));
    else first = Math.max(first, firstAt(sorts, `${after.sort}\0`));
  }
  if (end <= first) return [];
  return isDescending
    ? sorts.slice(Math.max(first, end - limit), end).toReversed()
    : sorts.slice(first, Math.min(end, first + limit));
};

const itemsOf = ({ items }: Partition, sorts: string[]): Item[] =>
  sorts.flatMap((sort) => listOf(items.get(sort)));

const textOf = (item: Item, name: string): string => String(item[name] ?? '');

/** The index of a table, as a further one. */
const byProject = (table: string): string => `${table} by project`;

/** Where the index has an item; undefined for those that it has not. */
const placeInIndex = (item: Item): ItemPlace | undefined => {
  const { partitionKey, sortKey } = KEYS_BY_PROJECT;
  if (item[partitionKey] === undefined || item[sortKey] === undefined) return undefined;
  return { partition: textOf(item, partitionKey), sort: textOf(item, sortKey) };
};

/** `ItemDatabase` of a process, with which it is lost. */
export const createMemoryDatabase = (): ItemDatabase => {
  const tables = new Map<string, Map<string, Partition>>();

  const partitionsOf = oncePer(tables, () => new Map<string, Partition>());

  const putAt = (table: string, { partition, sort }: ItemPlace, item: Item): void => {
    const partitions = partitionsOf(table);
    const { sorts, items } = partitions.get(partition) ?? { sorts: [], items: new Map() };
    if (!items.has(sort)) sorts.splice(firstAt(sorts, sort), 0, sort);
    items.set(sort, item);
    partitions.set(partition, { sorts, items });
  };

  const put = (table: string, place: ItemPlace, item: Item): void => {
    putAt(table, place, item);
    const inIndex = placeInIndex(item);
    if (inIndex) putAt(byProject(table), inIndex, item);
  };

  const read: ItemDatabase['read'] = (table, { partition, sort }) =>
    tables.get(table)?.get(partition)?.items.get(sort);

  const remove = (table: string, { partition, sort }: ItemPlace): void => {
    const found = tables.get(table)?.get(partition);
    const inIndex = placeInIndex(found?.items.get(sort) ?? {});
    if (!found?.items.delete(sort)) return;
    if (inIndex) remove(byProject(table), inIndex);
    found.sorts.splice(firstAt(found.sorts, sort), 1);
    if (found.sorts.length === 0) tables.get(table)?.delete(partition);
  };

  const all = (table: string): Item[] =>
    [...(tables.get(table)?.values() ?? [])].flatMap(({ items }) => [...items.values()]);

  return {
    read,
    change: (table, place, change) => {
      const after = change(tables.get(table)?.get(place.partition)?.items.get(place.sort));
      if (after) put(table, place, after);
    },
    range: (table, { partition, ...bounds }) => {
      const found = tables.get(table)?.get(partition);
      return found ? itemsOf(found, within(found.sorts, bounds)) : [];
    },
    keysOfProject: (table, { partition, after, ...bounds }) => {
      const found = tables.get(byProject(table))?.get(partition);
      const last = after && read(table, after);
      const behind = last && placeInIndex(last as Item);
      return found ? itemsOf(found, within(found.sorts, { ...bounds, after: behind })) : [];
    },
    scan: (table, { after, limit }) => {
      const items = all(table);
      const last = after ? `${after.partition}\0${after.sort}` : undefined;
      const isLast = (item: Item) =>
        `${textOf(item, PARTITION_KEY)}\0${textOf(item, SORT_KEY)}` === last;
      const first = last === undefined ? 0 : items.findIndex(isLast) + 1;
      return items.slice(first, first + limit);
    },
    expire: (now) => {
      for (const [table, partitions] of tables) {
        for (const [partition, { items }] of partitions) {
          for (const [sort, item] of items) {
            if (Number(item[TTL_ATTRIBUTE]) * 1_000 <= now) remove(table, { partition, sort });
          }
        }
      }
    },
    close: () => undefined,
  };
};
