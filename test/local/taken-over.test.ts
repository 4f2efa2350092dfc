import { expect, onTestFinished, test } from 'vitest';
import { openStores } from '../../local/local-stores.ts';
import { type LocalRouter, startLocal } from '../../local/start.ts';
import { readOpenMetrics, totalOf } from '../metrics/read-open-metrics.ts';
import { MODEL_ON, post } from '../support/local.ts';
import { createManualClock } from '../support/manual-clock.ts';

const DAY = '2026-11-21';
const START = Date.parse(`${DAY}T12:00:00Z`);
const ASKED = {
  model: MODEL_ON.chat,
  user: 'ada',
  messages: [{ role: 'user', content: 'say hello' }],
};
const PATH = '/v1/chat/completions';
type Charged = { charged: number };
type Usage = { history: { data: Charged[]; total: Charged } };
const KEYED = { 'idempotency-key': 'one' };

/** Charged units by the history of a router: by key, by user, and in the metrics. */
const chargedAt = async ({ baseUrl }: { baseUrl: string }, key: string) => {
  const headers = { authorization: `Bearer ${key}` };
  const read = (path: string) => fetch(`${baseUrl}${path}`, { headers });
  const readUsage = async (by = '') => {
    const usage = await (await read(`/v1/usage?since=${DAY}${by}`)).json();
    return (usage as Usage).history;
  };
  const families = readOpenMetrics(await (await read('/admin/metrics')).text());
  return [
    (await readUsage()).total.charged,
    (await readUsage('&by=user')).data[0]?.charged,
    totalOf(families, 'model_router_requests_total', { outcome: 'charged' }),
  ];
};

/** A router on stores that a process has used which died while it had a request with a key. */
const startAfterDeath = async () => {
  const clock = createManualClock(START);
  const stores = openStores(clock);
  const open = { ...stores, close: async () => {} };
  // Its clock stands still: it neither responds nor renews its lease, as if it were killed.
  const dead = await startLocal({ clock: createManualClock(START), stores: open });
  dead.upstreams.inject({ fault: { kind: 'stall' } });
  const started: LocalRouter[] = [dead];
  onTestFinished(async () => {
    for (const { close } of started.toReversed()) await close();
    await stores.close();
  });
  const start = async () => {
    const router = await startLocal({ clock, stores: open });
    started.push(router);
    return router;
  };
  const router = await start();
  post(dead, PATH, ASKED, { headers: KEYED }).catch(() => undefined);
  await expect.poll(() => dead.upstreams.calls.length).toBe(1);
  const ask = async (headers = {}) => {
    const response = await post({ ...router, key: dead.key }, PATH, ASKED, { headers });
    expect(response.status).toBe(200);
    await response.text();
  };
  const countRecords = async () => {
    let count = 0;
    for await (const page of stores.parts.records.readDay('local', DAY)) count += page.length;
    return count;
  };
  return {
    clock,
    start,
    ask,
    charged: (at = router) => chargedAt(at, dead.key),
    countRecords,
    /** Ids of the requests since an instant, and where the next export begins. */
    exportFrom: async (from: string) => {
      const exported = await fetch(`${router.baseUrl}/admin/exports/ndjson?from=${from}`);
      const { to, data } = (await exported.json()) as { to: string; data: { id: string }[] };
      return { to, ids: data.map(({ id }) => id) };
    },
  };
};

test('the history of the day has a request whose process died and that its repeat has taken over', async () => {
  const { clock, ask, charged } = await startAfterDeath();
  clock.advance(40_000);
  await ask();
  expect(await charged()).toEqual([1, 1, 1]);
  clock.advance(1_000);
  await ask(KEYED);
  clock.advance(1_000);
  expect(await charged()).toEqual([2, 2, 2]);
  clock.advance(1_000);
  await ask();
  expect(await charged()).toEqual([3, 3, 3]);
});

test('the history of the day has a request that was taken over by a process which died before it read its records', async () => {
  const { clock, start, ask, charged, countRecords } = await startAfterDeath();
  clock.advance(40_000);
  await ask();
  expect(await charged()).toEqual([1, 1, 1]);
  clock.advance(1_000);
  await ask(KEYED);
  await expect.poll(countRecords).toBe(2);
  // Its clock does not pass the five seconds after which it would read them.
  expect(await charged(await start())).toEqual([2, 2, 2]);
  expect(await charged(await start())).toEqual([2, 2, 2]);
});

test('exports that follow each other have each request once, also one that was taken over between them', async () => {
  const { clock, ask, exportFrom } = await startAfterDeath();
  clock.advance(40_000);
  await ask();
  clock.advance(10_000);
  const first = await exportFrom(`${DAY}T10:00:00Z`);
  await ask(KEYED);
  const second = await exportFrom(first.to);
  clock.advance(2 * 3_600_000);
  const third = await exportFrom(second.to);
  const ids = [first, second, third].flatMap((exported) => exported.ids);
  expect([ids.length, new Set(ids).size]).toEqual([2, 2]);
  // None of an earlier process can be taken over any more.
  await ask();
  clock.advance(10_000);
  expect((await exportFrom(third.to)).ids).toHaveLength(1);
});
