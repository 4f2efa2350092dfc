import type { Item } from '../../lambdas/stores/dynamo/dynamo-client.ts';

/** `sort` is empty in tables whose items have none. */
export type ItemPlace = { partition: string; sort: string };

/** A part of a partition, or of an index; bounds are included. */
export type ItemRange = {
  partition: string;
  from?: string | undefined;
  to?: string | undefined;
  /** Only what is behind this item, in the order of the range. */
  after?: ItemPlace | undefined;
  isDescending?: boolean;
  limit: number;
};

export const listOf = (item: Item | undefined): Item[] => (item ? [item] : []);

type Answer<Value> = Value | Promise<Value>;

/**
 * Where a router that runs without DynamoDB keeps its items: everything that a backend has to implement. Its verbs do not
 * know what an item means. Implemented in memory (memory.ts) and on SQLite (folder.ts).
 */
export type ItemDatabase = {
  read(table: string, place: ItemPlace): Answer<Item | undefined>;
  /**
   * Replaces the item by what `change` returns for it, or leaves it for undefined, in one transaction: of two changes of
   * an item one sees what the other wrote. A change that has returned outlives the process.
   * @throws DatabaseError if nothing was written; after any other error it may have been
   */
  change(
    table: string,
    place: ItemPlace,
    change: (item: Item | undefined) => Item | undefined,
  ): Answer<void>;
  /** Items of a partition in the order of their sort keys. */
  range(table: string, range: ItemRange): Answer<Item[]>;
  /** Keys of a project in the order of their ids; `after` is a place in the table. */
  keysOfProject(table: string, range: ItemRange): Answer<Item[]>;
  /** All items, in any order that stays the same. */
  scan(table: string, page: Pick<ItemRange, 'after' | 'limit'>): Answer<Item[]>;
  /** Removes the items that DynamoDB would: those whose time to live is over at `now` (ms). */
  expire(now: number): Answer<void>;
  close(): Answer<void>;
};

/** The database cannot be opened, or not written. Its message is for the operator. */
export class DatabaseError extends Error {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.name = 'DatabaseError';
  }
}
