import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { NO_USAGE } from '../../../lambdas/history/sums.ts';
import type { DynamoClient, Item } from '../../../lambdas/stores/dynamo/dynamo-client.ts';
import { createDynamoProjectStore } from '../../../lambdas/stores/dynamo/project-store.ts';
import { HISTORY_DAYS } from '../../../lambdas/stores/history-store.ts';
import { DAY_MS, dayOf, daysBetween } from '../../../lambdas/support/clock.ts';
import { PARTITION_KEY, SORT_KEY } from '../../../lambdas/tables.ts';
import { type AdminBench, adminOn } from '../../support/admin-bench.ts';
import { startDynamo, storesOn, TABLE_NAMES, type TestDynamo } from '../../support/dynamo.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { checksAll } from '../../support/seeds.ts';

const MAX_BYTES = 6_291_456;
/** Reads one after another, of a tenth of a second each: under half of the 29 s that the REST API waits. */
const MAX_READS = 120;
/** Rows of a megabyte. */
const PAGE = 2_500;
/** In `npm test` still several pages. */
const EXPORTED_KEYS = checksAll ? 100 : 30;
const PROJECT = 'old';
const NOW = Date.now();
const FIRST = dayOf(NOW - (HISTORY_DAYS - 1) * DAY_MS);
const MODELS = ['vendor/large', 'vendor/medium', 'vendor/small'];
const DAYS = daysBetween(FIRST, dayOf(NOW));

const keyAt = (index: number) => `key_${String(index).padStart(20, '0')}`;

/** Since the latest request began. */
let reads = 0;

/** The rows of a project with so many keys that use every model every day: written one by one they take minutes. */
const withHistory = (client: DynamoClient, keys: number): DynamoClient => {
  const ids = Array.from({ length: keys }, (_, index) => keyAt(index));
  const itemsOf = (month: string): { sort: string; entry: object }[] =>
    DAYS.filter((day) => day.startsWith(month)).flatMap((day) =>
      ids.flatMap((keyId) =>
        MODELS.map((model) => ({
          sort: `d|${day}|${keyId}|${model}`,
          entry: { ...NO_USAGE, projectId: PROJECT, day, keyId, meterId: keyId, model, charged: 1 },
        })),
      ),
    );
  let known = { month: '', items: itemsOf('none') };

  const pageOf = (partition: string, from: string, to: string, after = '') => {
    reads += 1;
    const month = partition.split('|')[1] ?? '';
    if (known.month !== month) known = { month, items: itemsOf(month) };
    const found = known.items.filter(({ sort }) => sort >= from && sort <= to && sort > after);
    const page = found.slice(0, PAGE);
    const last = page.at(-1);
    return {
      Items: page.map(({ entry }): Item => ({ entry: JSON.stringify(entry) })),
      ...(last &&
        found.length > PAGE && {
          LastEvaluatedKey: { [PARTITION_KEY]: partition, [SORT_KEY]: last.sort },
        }),
    };
  };
  const call: DynamoClient['call'] = async (operation, input) => {
    if (!('partition' in input)) return client.call(operation, input);
    const { partition, from = '', to = '', ExclusiveStartKey: start } = input;
    if (!partition.startsWith(`${PROJECT}|20`) || !from.startsWith('d|')) {
      return client.call(operation, input);
    }
    return pageOf(partition, from, to, start?.[SORT_KEY] as string | undefined);
  };
  return { ...client, call };
};

let dynamo: TestDynamo;
beforeAll(async () => {
  dynamo = await startDynamo();
  const projects = createDynamoProjectStore({
    client: dynamo.client,
    tableName: TABLE_NAMES.projects,
  });
  await projects.createProject({ id: PROJECT, createdAt: NOW - HISTORY_DAYS * DAY_MS });
  await projects.createProject({ id: 'other', createdAt: NOW });
});
afterAll(() => dynamo.close());

const Page = z.looseObject({
  data: z.array(z.looseObject({ day: z.string(), key: z.string(), model: z.string() })),
  next_cursor: z.string().nullable(),
});

/** The response, which keeps the limits of the REST API. */
const get = async (admin: AdminBench, path: string) => {
  reads = 0;
  const { status, body } = await admin.send({ path: `/admin/${path}` });
  expect(reads, path).toBeLessThan(MAX_READS);
  expect(Buffer.byteLength(JSON.stringify(body)), path).toBeLessThan(MAX_BYTES);
  return { status, body };
};

test('an export of two years has every row once, in pages that keep the limits of the REST API', async () => {
  const admin = adminOn(withHistory(dynamo.client, EXPORTED_KEYS));
  let cursor: string | null = '';
  let rows = 0;
  let last = '';
  for (let pages = 0; cursor !== null && pages < 200; pages += 1) {
    const { body } = await get(
      admin,
      `usage?since=${FIRST}T00:00:00Z${cursor && `&cursor=${encodeURIComponent(cursor)}`}`,
    );
    const { data, next_cursor: next } = Page.parse(body);
    for (const { day, key, model } of data) {
      const place = `${day}|${key}|${model}`;
      if (place <= last) throw new Error(`${place} after ${last}`);
      last = place;
    }
    rows += data.length;
    cursor = next;
  }
  expect([cursor, rows]).toEqual([null, EXPORTED_KEYS * MODELS.length * HISTORY_DAYS]);
});

test('a page begins where its cursor is, also at a project, before the range and behind it', async () => {
  const admin = adminOn(withHistory(dynamo.client, 2));
  const from = dayOf(NOW - DAY_MS);
  const read = async (cursor: string) => {
    const { body } = await get(
      admin,
      `usage?since=${from}T00:00:00Z&cursor=${encodeURIComponent(cursor)}`,
    );
    const { data, next_cursor } = Page.parse(body);
    return { rows: data.length, next_cursor };
  };
  expect(await read(PROJECT)).toEqual({ rows: 12, next_cursor: 'other' });
  expect(await read(`${PROJECT}|${from}|${keyAt(1)}|${MODELS[1]}`)).toEqual({
    rows: 7,
    next_cursor: 'other',
  });
  expect(await read(`${PROJECT}|${FIRST}|${keyAt(1)}|${MODELS[1]}`)).toMatchObject({ rows: 12 });
  expect(await read(`${PROJECT}|${dayOf(NOW + DAY_MS)}||`)).toMatchObject({ rows: 0 });
  expect(await read('other')).toEqual({ rows: 0, next_cursor: null });
  expect(await read('unknown')).toEqual({ rows: 0, next_cursor: null });
});

test('sums of two years keep the limits of the REST API, and are rejected above 250,000 rows', async () => {
  const admin = adminOn(withHistory(dynamo.client, 100));
  // Most entries are of days and keys; each sum reads every row.
  for (const by of checksAll ? ['day', 'model', 'key', 'project'] : ['day', 'key']) {
    const { status, body } = await get(admin, `usage?since=${FIRST}T00:00:00Z&by=${by}`);
    expect([status, body]).toMatchObject([200, { total: { charged: 300 * HISTORY_DAYS } }]);
  }
  const month = dayOf(NOW - 60 * DAY_MS).slice(0, 7);
  expect((await get(admin, `projects/${PROJECT}/statements/${month}`)).status).toBe(200);

  const larger = adminOn(withHistory(dynamo.client, 400));
  const { status, body } = await get(larger, `usage?since=${FIRST}T00:00:00Z&by=day`);
  expect([status, body]).toMatchObject([
    400,
    { error: { message: expect.stringContaining('more than 250000 rows'), param: 'since' } },
  ]);
  expect((await get(larger, `usage?by=day&project=${PROJECT}`)).status).toBe(200);
});

test('the statement of a month is final until the history has deleted one of its days', async () => {
  const { history } = storesOn(dynamo.client);
  const foldedAt = Date.parse('2029-03-01T12:00:00Z');
  const days = { closedDay: '2029-02-27', settled: {}, summedFrom: '2026-11-01' };
  await history.putProgress('other', { ...days, foldedAt });
  const isFinalAt = async (day: string) => {
    const admin = adminOn(dynamo.client, { clock: createManualClock(Date.parse(day)) });
    const { body } = await admin.send({ path: '/admin/projects/other/statements/2026-11' });
    return (body as { is_final: boolean }).is_final;
  };
  expect(await isFinalAt('2027-01-01')).toBe(true);
  expect(await isFinalAt('2029-01-28')).toBe(true);
  expect(await isFinalAt('2029-01-30')).toBe(false);
});
