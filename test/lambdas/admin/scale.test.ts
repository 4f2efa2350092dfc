import { BatchWriteCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { createDynamoProjectStore } from '../../../lambdas/stores/dynamo/project-store.ts';
import { DAY_MS, dayOf, MINUTE_MS } from '../../../lambdas/support/clock.ts';
import { PARTITION_KEY } from '../../../lambdas/tables.ts';
import { type AdminBench, adminOn } from '../../support/admin-bench.ts';
import { startDynamo, storesOn, TABLE_NAMES, type TestDynamo } from '../../support/dynamo.ts';

const KEYS = 5_000;
const MAX_BATCH = 25;
const CREATED_AT = Date.parse('2026-11-01T00:00:00Z');

let dynamo: TestDynamo;
let admin: AdminBench;
let calls = 0;

const idOf = (index: number): string => `key_${String(index).padStart(20, '0')}`;

/** The items that creations write, in batches: one by one they take 20 seconds. */
const writeKeys = async (): Promise<void> => {
  const puts = Array.from({ length: KEYS }, (_, index) => ({
    PutRequest: {
      Item: {
        [PARTITION_KEY]: String(index).padStart(64, '0'),
        keyId: idOf(index),
        projectId: 'large',
        planId: 'plan',
        meterId: `mtr_${index}`,
        start: 'mrk_live_0000',
        name: `customer ${index}`,
        status: 'active',
        createdAt: CREATED_AT,
      },
    },
  }));
  for (let index = 0; index < KEYS; index += MAX_BATCH) {
    const RequestItems = { [TABLE_NAMES.keys]: puts.slice(index, index + MAX_BATCH) };
    await dynamo.sdk.send(new BatchWriteCommand({ RequestItems }));
  }
};

beforeAll(async () => {
  dynamo = await startDynamo();
  const { plans } = storesOn(dynamo.client);
  const projects = createDynamoProjectStore({
    client: dynamo.client,
    tableName: TABLE_NAMES.projects,
  });
  await projects.createProject({ id: 'large', createdAt: CREATED_AT });
  await plans.putPlan({ id: 'plan', rpm: 10, quota: 100, period: 'month' });
  await writeKeys();
  admin = adminOn({
    ...dynamo.client,
    call: (...call) => {
      calls += 1;
      return dynamo.client.call(...call);
    },
  });
});
afterAll(() => dynamo.close());

const Page = z.object({
  data: z.array(z.object({ id: z.string() })),
  next_cursor: z.string().nullable(),
});

/** A response of the large project, and the calls of DynamoDB that it took. */
const read = async (path: string) => {
  calls = 0;
  const { body } = await admin.send({ path: `/admin/projects/large/${path}` });
  return { ...Page.parse(body), calls };
};

test('a page of the usage of 5,000 keys takes as many reads as it has keys, and four more', async () => {
  const first = await read('usage');
  expect(first.data).toHaveLength(200);
  expect(first.calls).toBeLessThanOrEqual(204);
  const second = await read(`usage?limit=50&cursor=${first.next_cursor}`);
  expect(second.data.map(({ id }) => id)).toEqual(
    Array.from({ length: 50 }, (_, index) => idOf(200 + index)),
  );
  expect(second.calls).toBeLessThanOrEqual(54);
});

test('the usage of named keys takes two reads of each', async () => {
  const ids = [idOf(4_999), idOf(7)];
  const { data, calls, next_cursor } = await read(`usage?keys=${ids.join(',')},key_unknown`);
  expect(data.map(({ id }) => id)).toEqual(ids);
  expect(next_cursor).toBeNull();
  expect(calls).toBeLessThanOrEqual(2 * ids.length + 4);
});

test('a page of 5,000 keys takes two reads, and a search among all of them twelve', async () => {
  const page = await read('keys?limit=200');
  expect(page.data).toHaveLength(200);
  expect(page.calls).toBeLessThanOrEqual(2);
  const { data, calls } = await read('keys?limit=200&q=customer%204999');
  expect(data).toEqual([expect.objectContaining({ id: idOf(4_999) })]);
  expect(calls).toBeLessThanOrEqual(12);
});

const FIRST = '0000-01-01T00:00:00Z';
const LAST = '9998-01-01T00:00:00Z';
const YEAR_10000 = '9999-12-31T23:59:59-01:00';
const IN_A_MINUTE = new Date(Date.now() + MINUTE_MS).toISOString();
const TODAY = dayOf(Date.now());

test.each([
  `requests?until=${LAST}`,
  `requests?since=${FIRST}&until=${new Date(Date.now() - 399 * DAY_MS).toISOString()}`,
  `calibration?since=${LAST}`,
  `calibration?since=${IN_A_MINUTE}`,
  `requests?since=${IN_A_MINUTE}`,
  `requests?cursor=${TODAY}|req_${'0'.repeat(24)}`,
  `audit?since=${FIRST}&until=${LAST}`,
  `usage?since=${FIRST}`,
  `usage?until=${LAST}&by=day`,
  `requests?since=${YEAR_10000}`,
  `calibration?since=${YEAR_10000}`,
  `usage?since=${YEAR_10000}&until=9999-12-31T23:59:59-02:00`,
])('a range beyond what may be kept takes the reads of what may be: %s', async (path) => {
  calls = 0;
  const { status } = await admin.send({ path: `/admin/${path}` });
  expect(status).toBe(200);
  expect(calls).toBeLessThanOrEqual(40);
});
