import { createHistoryJob } from '../../lambdas/history/history-job.ts';
import type { DynamoClient } from '../../lambdas/stores/dynamo/dynamo-client.ts';
import { createDynamoRecordStore } from '../../lambdas/stores/dynamo/record-store.ts';
import { DAY_MS, HOUR_MS } from '../../lambdas/support/clock.ts';
import { firstRequestIdAt } from '../../lambdas/support/ids.ts';
import { startDynamoStores } from '../../test/support/dynamo-stores.ts';
import { createManualClock } from '../../test/support/manual-clock.ts';
import { recordAt } from './seed.ts';

const SHARDS = 4;
const KEYS = 500;
/** DynamoDB ends a page there. */
const PAGE_BYTES = 1_048_576;
/** Of a strongly consistent read. */
const UNIT_BYTES = 4_096;
const MIDNIGHT = Math.floor(Date.now() / DAY_MS) * DAY_MS - 10 * DAY_MS;
/** Last letters of ids, one for each shard. */
const LETTERS = ['0', '1', '2', '3'];

/** A records table of `count` records of a day, which are made when they are read: only what began before `now()` is there. */
const createMadeRecords = (count: number, now: () => number) => {
  const read = { records: 0, units: 0 };
  const perShard = count / SHARDS;
  const timeAt = (index: number) => MIDNIGHT + Math.floor((DAY_MS * index) / perShard);
  const idAt = (index: number, shard: number) =>
    firstRequestIdAt(timeAt(index)) + String(index).padStart(17, '0') + LETTERS[shard];
  const indexOf = (id: string, shard: number): number => {
    let [low, high] = [0, perShard];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (idAt(middle, shard) < id) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  const itemAt = (index: number, shard: number) => {
    const id = idAt(index, shard);
    const number = index % KEYS;
    const owner = {
      keyId: `key_${String(number).padStart(20, '0')}`,
      meterId: `mtr_${number}`,
      projectId: 'made',
    };
    const entry = {
      ...recordAt(index, owner, MIDNIGHT + Math.floor((DAY_MS * index) / perShard)),
      id,
    };
    return {
      pk: `made|day|${shard}`,
      sk: id,
      entry: JSON.stringify(entry),
      revision: 1,
      ttl: 1_800_000_000,
    };
  };
  const query = (input: {
    ExpressionAttributeValues?: Record<string, unknown> | undefined;
    ExclusiveStartKey?: Record<string, unknown> | undefined;
    Limit?: number | undefined;
  }) => {
    const { Limit: limit = Number.POSITIVE_INFINITY } = input;
    const { ':pk': partition, ':from': from } = input.ExpressionAttributeValues ?? {};
    const [, day, shardText] = String(partition).split('|');
    const shard = Number(shardText);
    const isOther = day !== new Date(MIDNIGHT).toISOString().slice(0, 10) || String(from) > 'req_~';
    let index = Number(input.ExclusiveStartKey?.index ?? indexOf(String(from), shard));
    const Items = [];
    let bytes = 0;
    const isThere = () => !isOther && index < perShard && timeAt(index) < now();
    while (isThere() && bytes < PAGE_BYTES && Items.length < limit) {
      const item = itemAt(index, shard);
      Items.push(item);
      bytes += JSON.stringify(item).length;
      index += 1;
    }
    read.records += Items.length;
    read.units += Math.max(1, Math.ceil(bytes / UNIT_BYTES));
    return { Items, LastEvaluatedKey: isThere() ? { index } : undefined };
  };
  const client = {
    call: async (_: string, input: object) => query(input),
    destroy: () => undefined,
  };
  return { read, client: client as unknown as DynamoClient };
};

/** Runs the history every hour of a day with `count` records, and once more to close it; prints what each run reads. */
export const foldOf = async (count: number): Promise<void> => {
  const stores = await startDynamoStores();
  const clock = createManualClock(MIDNIGHT);
  const made = createMadeRecords(count, clock.now);
  const { parts } = stores;
  await parts.projects.createProject({ id: 'made', createdAt: MIDNIGHT });
  const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const records = createDynamoRecordStore({ client: made.client, tableName: 'made' });
  const job = createHistoryJob({ ...parts, records, clock, log: quiet });
  const total = { records: 0, units: 0, ms: 0 };
  console.log(
    '| Run | records there | read | read units | seconds | MB of heap |\n|---|---|---|---|---|---|',
  );
  for (let hour = 1; hour <= 28; hour += 1) {
    clock.set(MIDNIGHT + hour * HOUR_MS + 25 * 60_000);
    Object.assign(made.read, { records: 0, units: 0 });
    const start = performance.now();
    await job.run('made');
    const ms = performance.now() - start;
    global.gc?.();
    const heap = process.memoryUsage().heapUsed / 1_048_576;
    const there = Math.min(count, Math.floor((count * (clock.now() - MIDNIGHT)) / DAY_MS));
    const { records: seen, units } = made.read;
    total.records += seen;
    total.units += units;
    total.ms += ms;
    if ([1, 6, 12, 18, 24, 27, 28].includes(hour))
      console.log(
        `| ${hour}:25 | ${there} | ${seen} | ${units} | ${(ms / 1_000).toFixed(1)} | ${heap.toFixed(0)} |`,
      );
  }
  console.log(
    `all 28 runs: ${total.records} records, ${total.units} read units, ${(total.ms / 1_000).toFixed(0)} s`,
  );
  let requests = 0;
  const day = new Date(MIDNIGHT).toISOString().slice(0, 10);
  for await (const rows of parts.history.readRows({ projectId: 'made', from: day, to: day }))
    for (const row of rows) requests += row.charged + row.refunded;
  console.log(`requests in the history: ${requests}`);
  await stores.close();
};
