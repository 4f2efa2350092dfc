import { type DynamoDBDocumentClient, GetCommand } from '@aws-sdk/lib-dynamodb';
import type { Item } from '../../lambdas/stores/dynamo/dynamo-client.ts';
import { PARTITION_KEY } from '../../lambdas/tables.ts';
import { answerOf, clientFrom, createMemoryTable, throwThrottled } from './memory-table.ts';
import type { Scheduler } from './scheduler.ts';

const SECOND = 1_000;
/** Of one call, there and back. */
const CALL_MS = 4;
const UNIT_BYTES = 1_024;

const valueBytes = (value: unknown): number =>
  // A number takes a byte for two digits, and one more.
  typeof value === 'number'
    ? Math.ceil(String(Math.abs(value)).length / 2) + 1
    : Buffer.byteLength(String(value));

/** What DynamoDB bills for an item that contains its key. */
export const bytesOf = (item: Item): number =>
  Object.entries(item).reduce(
    (sum, [name, value]) => sum + Buffer.byteLength(name) + valueBytes(value),
    0,
  );

/** Write units of an item of that size. */
export const unitsOf = (bytes: number): number => Math.max(1, Math.ceil(bytes / UNIT_BYTES));

export type TableCounts = {
  writes: number;
  /** Write units of them. */
  units: number;
  /** Of the items written, before each write. */
  bytes: number;
  reads: number;
  throttled: number;
};

/**
 * A table that charges each write, also one whose condition fails, `ceil(size / 1 KB)` units from a bucket of its item,
 * as DynamoDB does with 1,000 units a second.
 */
export const createScaledTable = (
  scheduler: Scheduler,
  unitsPerSecond: number,
): { client: DynamoDBDocumentClient; counts: TableCounts; countItems: () => number } => {
  const table = createMemoryTable();
  const counts = { writes: 0, units: 0, bytes: 0, reads: 0, throttled: 0 };
  /** Capacity of each item. */
  const buckets = new Map<string, { units: number; filledAt: number }>();

  const charge = (key: string, bytes: number): void => {
    const now = scheduler.now();
    const last = buckets.get(key) ?? { units: unitsPerSecond, filledAt: now };
    const filled = last.units + ((now - last.filledAt) / SECOND) * unitsPerSecond;
    const units = Math.min(unitsPerSecond, filled);
    const price = unitsOf(bytes);
    const isThrottled = units < price;
    buckets.set(key, { units: isThrottled ? units : units - price, filledAt: now });
    if (isThrottled) {
      counts.throttled += 1;
      throwThrottled();
    }
    counts.writes += 1;
    counts.units += price;
    counts.bytes += bytes;
  };

  const client = clientFrom(async (command) => {
    await scheduler.sleep(CALL_MS);
    const key = String(command.input.Key?.[PARTITION_KEY]);
    if (command instanceof GetCommand) {
      counts.reads += 1;
      return { $metadata: {}, Item: table.get(key) };
    }
    charge(key, bytesOf({ [PARTITION_KEY]: key, ...table.get(key) }));
    return answerOf(table.update(command.input), 'always');
  });
  return { client, counts, countItems: () => buckets.size };
};
