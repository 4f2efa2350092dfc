import { afterAll, beforeAll, expect, test } from 'vitest';
import type { DynamoClient } from '../../../../lambdas/stores/dynamo/dynamo-client.ts';
import { createDynamoRecordStore } from '../../../../lambdas/stores/dynamo/record-store.ts';
import type { RequestRecord } from '../../../../lambdas/stores/record-store.ts';
import { dayOf } from '../../../../lambdas/support/clock.ts';
import { newRequestId } from '../../../../lambdas/support/ids.ts';
import { createRandom } from '../../../simulation/random.ts';
import { startDynamo, TABLE_NAMES, type TestDynamo } from '../../../support/dynamo.ts';
import { SEED } from '../../../support/seeds.ts';

const START = Date.parse('2026-10-20T08:00:00Z');
const RECORDS = 300;

let dynamo: TestDynamo;
let itemsRead = 0;
beforeAll(async () => {
  dynamo = await startDynamo();
});
afterAll(() => dynamo.close());

/** The store on a client that counts the items of all pages. */
const createCountedStore = () => {
  const call: DynamoClient['call'] = async (operation, input) => {
    const output = await dynamo.client.call(operation, input);
    if ('Items' in output) itemsRead += output.Items?.length ?? 0;
    return output;
  };
  const client = { ...dynamo.client, call };
  return createDynamoRecordStore({ client, tableName: TABLE_NAMES.records });
};

const random = createRandom(SEED);
const randomBytes = (size: number) =>
  Uint8Array.from({ length: size }, () => random.between(0, 255));

const recordAt = (startedAt: number): RequestRecord => ({
  id: newRequestId(randomBytes, startedAt),
  startedAt,
  ms: 10,
  projectId: 'listed',
  keyId: 'key',
  meterId: 'meter',
  planId: 'plan',
  day: dayOf(startedAt),
  period: '2026-10',
  protocol: 'chat',
  model: 'vendor/model',
  isStream: false,
  attempts: [],
  isCharged: true,
  outcome: 'finished',
  status: 200,
});

test('the newest requests of a day are listed, and its first is noticed, without a read of the whole day', async () => {
  const records = createCountedStore();
  const times = Array.from({ length: RECORDS }, (_, n) => START + 1_000 * n);
  await Promise.all(times.map((startedAt) => records.putRecord(recordAt(startedAt), 1)));
  const range = { projectId: 'listed', from: START, to: START + 1_000 * RECORDS };
  const listed: number[] = [];
  itemsRead = 0;
  for await (const { startedAt } of records.listRecords(range)) {
    listed.push(startedAt);
    // Fifty of each of four partitions.
    if (listed.length === 10) expect(itemsRead).toBeLessThanOrEqual(200);
  }
  expect(listed).toEqual(times.toReversed());

  itemsRead = 0;
  const day = dayOf(START);
  expect(await records.hasEntries('listed', day)).toBe(true);
  expect(itemsRead).toBe(1);
  expect(await records.hasEntries('listed', day, START + 1_000 * (RECORDS - 1))).toBe(true);
  expect(await records.hasEntries('listed', day, START + 1_000 * RECORDS)).toBe(false);
  await records.putRefusals({ id: 'x'.repeat(24), projectId: 'denied', day, refusals: [] });
  expect(await records.hasEntries('denied', day)).toBe(true);
  expect(await records.hasEntries('denied', '2026-10-21')).toBe(false);
});

test('environments that propose keys for a period share the first of them, which another period does not', async () => {
  const stores = [createCountedStore(), createCountedStore(), createCountedStore()];
  const keys = await Promise.all(
    stores.map((store, index) =>
      store.shareSealKey(2_992_518, { key: `proposed ${index}`, expiresAt: START }),
    ),
  );
  expect(new Set(keys).size).toBe(1);
  expect(await stores[0]?.findSealKey(2_992_518)).toBe(keys[0]);
  expect(await stores[0]?.findSealKey(2_992_519)).toBeUndefined();
});
