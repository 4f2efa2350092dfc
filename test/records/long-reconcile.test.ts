import { afterEach, beforeEach, expect, test } from 'vitest';
import * as z from 'zod';
import { createHistoryJob } from '../../lambdas/history/history-job.ts';
import type { DynamoClient } from '../../lambdas/stores/dynamo/dynamo-client.ts';
import { createDynamoProjectStore } from '../../lambdas/stores/dynamo/project-store.ts';
import type { RequestRecord } from '../../lambdas/stores/record-store.ts';
import { DAY_MS, dayOf, minuteOf } from '../../lambdas/support/clock.ts';
import { newRequestId } from '../../lambdas/support/ids.ts';
import { createLog } from '../../lambdas/support/log.ts';
import { adminOn } from '../support/admin-bench.ts';
import { startDynamo, storesOn, TABLE_NAMES, type TestDynamo } from '../support/dynamo.ts';
import { createManualClock, type ManualClock } from '../support/manual-clock.ts';

/** The REST API ends a request then. */
const MAX_MS = 29_000;
const START = Date.parse('2026-10-20T10:00:00Z');
const DAYS = 20;
const UNITS = 2;
/** A day with more units. */
const HUGE = '2026-10-24';
const HUGE_UNITS = 40;
const LIMITS = { rpm: 1_000, quota: 100_000 };

let dynamo: TestDynamo;
let clock: ManualClock;
beforeEach(async () => {
  dynamo = await startDynamo();
  clock = createManualClock(START);
});
afterEach(() => dynamo.close());

const projectsOn = (client: DynamoClient) =>
  createDynamoProjectStore({ client, tableName: TABLE_NAMES.projects });

const Created = z.looseObject({ id: z.string() });

/** A project whose history no run has brought up to date for so many days: two units a day of its first key. */
const createProject = async (
  id: string,
  { days = DAYS, keys = 1, hugeUnits = UNITS } = {},
): Promise<void> => {
  clock.set(START);
  const admin = adminOn(dynamo.client, { clock });
  const { meters, records, keys: stored } = storesOn(dynamo.client);
  await admin.post('/admin/projects', { id });
  await admin.post('/admin/plans', { id: 'daily', rpm: 1, quota: 1, period: 'day' });
  for (let count = 0; count < keys; count += 1) {
    Created.parse((await admin.post(`/admin/projects/${id}/keys`, { plan: 'daily' })).body);
  }
  const all = await stored.listKeys(id);
  for (let now = START; now < START + days * DAY_MS; now += DAY_MS) {
    const period = dayOf(now);
    for (const { keyId, meterId } of now === START ? all : all.slice(0, 1)) {
      for (let unit = 0; unit < (period === HUGE ? hugeUnits : UNITS); unit += 1) {
        const requestId = newRequestId(
          (size) => Buffer.alloc(size, (unit * 7 + keyId.charCodeAt(5)) % 248),
          now,
        );
        const one = { meterId, requestId, keyId, minute: minuteOf(now), period, ...LIMITS, now };
        await meters.reserve(one);
        await meters.charge(one);
        const names = {
          id: requestId,
          projectId: id,
          keyId,
          meterId,
          planId: 'daily',
          day: period,
          period,
        };
        const result = { isCharged: true, outcome: 'finished', status: 200 } as const;
        const record: RequestRecord = {
          ...{ ...names, ...result, startedAt: now, ms: 10, protocol: 'chat' },
          ...{ model: 'vendor/one', isStream: false, attempts: [], inputTokens: 3 },
        };
        await records.putRecord(record, 1);
      }
    }
  }
  clock.set(START + days * DAY_MS);
};

type Call = { operation: string; input: { TableName?: string; Key?: { pk?: unknown } } };

/** A table whose calls last so long, by the clock of the function; of some it returns an item a page. */
const slow = (
  msOf: (call: Call, text: string) => number,
  isPaged: (text: string) => boolean = () => false,
): DynamoClient => ({
  ...dynamo.client,
  call: (operation, input) => {
    const text = JSON.stringify(input);
    clock.advance(msOf({ operation, input } as Call, text));
    const asked = operation === 'Query' && isPaged(text) ? { ...input, limit: 1 } : input;
    return dynamo.client.call(operation, asked);
  },
});

const Page = z.object({
  data: z.array(
    z.looseObject({
      project: z.string(),
      used: z.number().optional(),
      difference: z.number().optional(),
    }),
  ),
  next_cursor: z.string().nullable(),
});
type Page = z.infer<typeof Page>;

/** A page, within the time that the REST API allows. */
const pageFrom = async (
  client: DynamoClient,
  project: string,
  cursor: string | null,
): Promise<Page> => {
  const startedAt = clock.now();
  const query = `project=${project}${cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`}`;
  const { status, body } = await adminOn(client, { clock }).post(
    `/admin/history/reconcile?${query}`,
    {},
  );
  expect(clock.now() - startedAt).toBeLessThan(MAX_MS);
  expect(status).toBe(200);
  return Page.parse(body);
};

const reconcile = async (client: DynamoClient, project: string): Promise<Page[]> => {
  const pages = [await pageFrom(client, project, null)];
  for (let next = pages[0]?.next_cursor; next && pages.length < 50; ) {
    const page = await pageFrom(client, project, next);
    pages.push(page);
    next = page.next_cursor;
  }
  return pages;
};

const chargedIn = async (project: string): Promise<number> => {
  let charged = 0;
  const range = { projectId: project, from: '2026-10-01', to: '2026-11-30' };
  for await (const rows of storesOn(dynamo.client).history.readRows(range)) {
    for (const row of rows) charged += row.charged;
  }
  return charged;
};

const hourlyRun = () =>
  createHistoryJob({
    ...storesOn(dynamo.client),
    projects: projectsOn(dynamo.client),
    clock,
    log: createLog(() => undefined),
  }).run();

const ofRecords = ({ operation, input }: Call) =>
  operation === 'Query' && input.TableName === TABLE_NAMES.records ? 500 : 0;

test('a reconciliation of one project that lasts minutes continues on the next pages, each within 29 s', async () => {
  await createProject('long');
  const pages = await reconcile(slow(ofRecords), 'long');
  expect(pages.length).toBeGreaterThan(4);
  expect(pages.slice(0, -1).flatMap(({ data }) => data)).toEqual([]);
  const { data = [], next_cursor: next } = pages.at(-1) ?? {};
  expect(next).toBeNull();
  expect(data).toHaveLength(DAYS);
  for (const row of data) expect(row).toMatchObject({ used: UNITS, difference: 0 });
  expect(await chargedIn('long')).toBe(DAYS * UNITS);
});

test('a reconciliation that is not continued loses no day and closes none twice, whoever finishes it', async () => {
  await createProject('left');
  const first = await pageFrom(slow(ofRecords), 'left', null);
  await pageFrom(slow(ofRecords), 'left', first.next_cursor);
  clock.advance(DAY_MS);
  await hourlyRun();
  expect(await chargedIn('left')).toBe(DAYS * UNITS);
  const [page, ...more] = await reconcile(dynamo.client, 'left');
  expect(more).toEqual([]);
  // Of the month before only what a run has not compared.
  for (const row of page?.data ?? []) expect(row).toMatchObject({ difference: 0 });
});

test('a reconciliation of a project with many meters continues after the keys whose meters are closed', async () => {
  await createProject('wide', { days: 1, keys: 60 });
  clock.advance(DAY_MS);
  const ofMeters = ({ input }: Call) => (input.TableName === TABLE_NAMES.meters ? 100 : 0);
  const pages = await reconcile(slow(ofMeters), 'wide');
  expect(pages.map(({ next_cursor: next }) => next?.split('|')[1]?.slice(0, 4))).toEqual([
    'key_',
    'key_',
    undefined,
  ]);
  expect(pages.at(-1)?.data).toHaveLength(60);
});

test('a day that alone lasts longer than a request is named, and the hourly run folds it', async () => {
  await createProject('huge', { hugeUnits: HUGE_UNITS });
  const isOfDay = (text: string) => text.includes(`huge|${HUGE}`);
  const ofDay = (_: Call, text: string) => (isOfDay(text) ? 1_000 : 0);
  const pages = await reconcile(slow(ofDay, isOfDay), 'huge');
  expect(pages.at(-1)).toEqual({
    data: [{ project: 'huge', unfinished: HUGE }],
    next_cursor: null,
  });
  await hourlyRun();
  expect(await chargedIn('huge')).toBe((DAYS - 1) * UNITS + HUGE_UNITS);
});
