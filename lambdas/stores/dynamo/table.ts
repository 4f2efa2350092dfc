import { listOf } from '../../support/async-lists.ts';
import { pause } from '../../support/clock.ts';
import { PARTITION_KEY, SORT_KEY } from '../../tables.ts';
import { StoreThrottled, StoreUnavailable } from '../store-unavailable.ts';
import {
  type DynamoCalls,
  type DynamoClient,
  DynamoError,
  type Item,
  type RangeQuery,
} from './dynamo-client.ts';
import type { Write } from './item-write.ts';

export type { Item, RangeQuery };

/** Key of an item: the partition, and in a sorted table the sort key as well. */
export type ItemKey = string | { partition: string; sort: string };

export type WriteResult = {
  /** False when the condition failed: nothing was written. */
  applied: boolean;
  /** After the write if it was applied, otherwise before it; undefined if the server returned none. */
  item: Item | undefined;
  /** An earlier attempt had no response: that copy may have been applied, or may be later. */
  mayBeDuplicated: boolean;
};

export type TableOptions = {
  client: DynamoClient;
  tableName: string;
  /** How often a throttled write is sent again; a throttled read is sent again once. @default 1 */
  throttledRepeats?: number;
};

export type Table = {
  /**
   * A strongly consistent read; for half of its price one that may be a second behind, if the reader can do with that.
   */
  read(key: ItemKey, options?: { mayBeStale: boolean }): Promise<Item | undefined>;
  apply(key: ItemKey, write: Write): Promise<WriteResult>;
  /** Whether the write was applied. */
  applies(key: ItemKey, write: Write): Promise<boolean>;
  /** Pages of a partition; `firstPage`: items of the first one. */
  range(query: RangeQuery & { firstPage?: number }): AsyncGenerator<Item[], void, void>;
  /** All pages of the table; eventually consistent. */
  scan(): Promise<Item[]>;
};

/** What a store keeps as JSON: it alone writes it. */
export const entryOf = <Entry>(item: Item): Entry => JSON.parse(String(item.entry)) as Entry;

const keyOf = (key: ItemKey): Record<string, string> =>
  typeof key === 'string'
    ? { [PARTITION_KEY]: key }
    : { [PARTITION_KEY]: key.partition, [SORT_KEY]: key.sort };

/** DynamoDB's names for more calls than an item, a table or an account allows. */
const THROTTLING = [
  'ThrottlingException',
  'ProvisionedThroughputExceededException',
  'RequestLimitExceeded',
];

const isThrottled = (cause: unknown): boolean =>
  cause instanceof DynamoError && THROTTLING.includes(cause.name);

/** Maps every error of the client to the one error that callers of a store handle. */
const unavailable = (cause: unknown, mayBeApplied: boolean): StoreUnavailable =>
  isThrottled(cause)
    ? new StoreThrottled('The table throttled the call.', { cause, mayBeApplied })
    : new StoreUnavailable('The table is unavailable.', { cause, mayBeApplied });

/** DynamoDB answered with a 4xx: the attempt was not applied and never will be. */
const isRefusal = (cause: unknown): boolean =>
  cause instanceof DynamoError && cause.status >= 400 && cause.status <= 499;

/** Attempts of one call, of at most 1 s each; the client makes one (client.ts). */
const MAX_ATTEMPTS = 3;

/**
 * Before a throttled call is sent again, in ms; three times as long before each further time. DynamoDB splits a busy
 * partition within seconds, but most throttles are the burst of a moment. The instant spreads the environments.
 */
const throttledPause = (repeats: number, now: number): number => (20 + (now % 31)) * 3 ** repeats;

/**
 * Repeats a call whose outcome is unknown (no response, or a 5xx) at once, and a throttled one `throttledRepeats` times
 * after a pause. Any other rejection is final.
 * @throws StoreUnavailable
 */
const send = async <Output>(
  { clock }: Pick<DynamoClient, 'clock'>,
  request: () => Promise<Output>,
  throttledRepeats = 1,
): Promise<{ output: Output; mayBeDuplicated: boolean }> => {
  let unknownOutcomes = 0;
  let repeats = 0;
  for (;;) {
    try {
      return { output: await request(), mayBeDuplicated: unknownOutcomes > 0 };
    } catch (cause) {
      if (isThrottled(cause) && repeats < throttledRepeats) {
        await pause(clock, throttledPause(repeats, clock.now()));
        repeats += 1;
        continue;
      }
      if (isRefusal(cause)) throw unavailable(cause, unknownOutcomes > 0);
      unknownOutcomes += 1;
      if (unknownOutcomes >= MAX_ATTEMPTS) throw unavailable(cause, true);
    }
  }
};

const isFailedCondition = (cause: unknown): cause is DynamoError =>
  cause instanceof DynamoError && cause.name === 'ConditionalCheckFailedException';

const applyWrite = async (
  { client, throttledRepeats }: TableOptions,
  input: DynamoCalls['UpdateItem']['input'],
): Promise<WriteResult> => {
  const once = async (): Promise<Omit<WriteResult, 'mayBeDuplicated'>> => {
    try {
      return { applied: true, item: (await client.call('UpdateItem', input)).Attributes };
    } catch (cause) {
      if (!isFailedCondition(cause)) throw cause;
      return { applied: false, item: cause.item };
    }
  };
  const { output, mayBeDuplicated } = await send(client, once, throttledRepeats);
  return { ...output, mayBeDuplicated };
};

/** Reads and conditional writes of one table; the only code that calls DynamoDB. @throws StoreUnavailable */
export const createTable = (options: TableOptions): Table => {
  const { client, tableName } = options;
  async function* pages(page: (from: Item | undefined) => Promise<DynamoCalls['Scan']['output']>) {
    let next: Item | undefined;
    do {
      const { output } = await send(client, () => page(next));
      yield output.Items ?? [];
      next = output.LastEvaluatedKey;
    } while (next);
  }
  const apply: Table['apply'] = (key, write) =>
    applyWrite(options, { TableName: tableName, Key: keyOf(key), write });
  return {
    read: async (key, { mayBeStale } = { mayBeStale: false }) => {
      const input = { TableName: tableName, Key: keyOf(key), ConsistentRead: !mayBeStale };
      return (await send(client, () => client.call('GetItem', input))).output.Item;
    },
    apply,
    applies: async (...write) => (await apply(...write)).applied,
    range: ({ firstPage, ...query }) =>
      pages((from) =>
        client.call('Query', {
          ...{ TableName: tableName, ExclusiveStartKey: from, ...query },
          limit: from ? query.limit : (firstPage ?? query.limit),
        }),
      ),
    scan: async () => {
      const all = pages((from) =>
        client.call('Scan', { TableName: tableName, ExclusiveStartKey: from }),
      );
      return (await listOf(all)).flat();
    },
  };
};
