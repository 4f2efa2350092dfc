import { setImmediate as afterOthers } from 'node:timers/promises';
import {
  type DynamoCalls,
  type DynamoClient,
  DynamoError,
  type DynamoOperation,
  type Item,
} from '../../lambdas/stores/dynamo/dynamo-client.ts';
import { type Clock, HOUR_MS, MINUTE_MS } from '../../lambdas/support/clock.ts';
import { PARTITION_KEY, SORT_KEY } from '../../lambdas/tables.ts';
import {
  DatabaseError,
  type ItemDatabase,
  type ItemPlace,
  type ItemRange,
} from './item-database.ts';
import { afterWrite } from './write.ts';

/** Items of a page; of DynamoDB a page is a megabyte. */
const PAGE = 500;

const placeOf = (key: Item): ItemPlace => ({
  partition: String(key[PARTITION_KEY]),
  sort: String(key[SORT_KEY] ?? ''),
});

const keyOf = (item: Item): Item => ({
  [PARTITION_KEY]: item[PARTITION_KEY],
  ...(item[SORT_KEY] !== undefined && { [SORT_KEY]: item[SORT_KEY] }),
});

const rangeOf = (query: DynamoCalls['Query']['input'], limit: number): ItemRange => {
  const { partition, from, to, isDescending = false, ExclusiveStartKey: last } = query;
  return { partition, from, to, isDescending, limit, after: last && placeOf(last) };
};

const pageOf = (items: Item[], limit: number) => {
  const last = items.length < limit ? undefined : items.at(-1);
  return { Items: items, LastEvaluatedKey: last && keyOf(last) };
};

/** As DynamoDB refuses a call: it was not applied, and is not sent again. */
const refused = (cause: DatabaseError): DynamoError =>
  new DynamoError(cause.name, { ...{ status: 400, item: undefined }, cause });

type Calls = {
  [Operation in DynamoOperation]: (
    input: DynamoCalls[Operation]['input'],
  ) => Promise<DynamoCalls[Operation]['output']>;
};

const callsOn = (database: ItemDatabase): Calls => ({
  GetItem: async ({ TableName, Key }) => ({ Item: await database.read(TableName, placeOf(Key)) }),
  UpdateItem: async ({ TableName, Key, write }) => {
    let before: Item | undefined;
    let after: Item | undefined;
    const change = (item: Item | undefined): Item | undefined => {
      before = item;
      after = afterWrite(item ?? {}, write);
      // The attributes of the key belong to the item.
      if (!item && after) Object.assign(after, Key);
      return after;
    };
    try {
      await database.change(TableName, placeOf(Key), change);
    } catch (cause) {
      throw cause instanceof DatabaseError ? refused(cause) : cause;
    }
    if (after) return write.returns === 'NONE' ? {} : { Attributes: after };
    throw new DynamoError('ConditionalCheckFailedException', {
      ...{ status: 400, item: before },
      cause: undefined,
    });
  },
  Query: async (query) => {
    const { TableName, index, attribute, limit = PAGE } = query;
    // The answer is there at once: a reader of a day's records would hold all requests of the process until the last page.
    if (query.ExclusiveStartKey) await afterOthers();
    const range = rangeOf(query, limit);
    const items = await database[index ? 'keysOfProject' : 'range'](TableName, range);
    const page = pageOf(items, limit);
    return attribute === undefined
      ? page
      : { ...page, Items: items.map((item) => ({ [attribute]: item[attribute] })) };
  },
  Scan: async ({ TableName, ExclusiveStartKey }) => {
    const after = ExclusiveStartKey && placeOf(ExclusiveStartKey);
    return pageOf(await database.scan(TableName, { after, limit: PAGE }), PAGE);
  },
});

/** The port of the DynamoDB stores on a database of another kind. */
export const createDatabaseClient = (database: ItemDatabase, clock: Clock): DynamoClient => {
  const calls = callsOn(database);
  let cancel: (() => void) | undefined;
  const expire = () => {
    // A database that fails is found by the requests that need it.
    void Promise.resolve(database.expire(clock.now())).catch(() => undefined);
    cancel = clock.after(HOUR_MS, expire);
  };
  // Sooner than an hour: many processes do not run for that long.
  cancel = clock.after(MINUTE_MS, expire);
  return { call: (operation, input) => calls[operation](input), clock, destroy: () => cancel?.() };
};
