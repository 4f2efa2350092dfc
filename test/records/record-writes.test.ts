import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { mintKey } from '../../lambdas/keys/api-key.ts';
import { generate } from '../metering/ledger.ts';
import { startTroubledRouter, type TroubledRouter } from '../metering/troubled-router.ts';
import { TABLE_NAMES } from '../support/dynamo.ts';

const NOW = Date.UTC(2026, 10, 28, 12);
const TIGHT = { rpm: 1_000, quota: 2, period: 'month' } as const;

let router: TroubledRouter;
beforeAll(async () => {
  // A clock that stands still: the real one may cross a minute between two of a thousand requests.
  router = await startTroubledRouter({ patience: 30_000, now: () => NOW });
});
afterAll(() => router.close());
beforeEach(() => {
  router.proxy.decide(() => 'none');
  router.proxy.calls.length = 0;
});

const PATH = '/v1/chat/completions';

const writes = () =>
  router.proxy.calls.filter(
    ({ operation, table }) => operation === 'UpdateItem' && table === TABLE_NAMES.records,
  ).length;

const failures = () => router.lines.filter(({ event }) => event === 'record_write_failed').length;

test.each([
  ['test/answers', true],
  ['test/answers', false],
  ['test/breaks', true],
  ['test/refuses', false],
])('a request to %s (streamed: %s) writes its record once', async (model, stream) => {
  const key = await router.createKey();
  await generate(router.url, { path: PATH, key, model, stream });
  await expect.poll(writes).toBe(1);
});

test('fifty denied requests of a minute are counted in two writes, and ten of them have a record', async () => {
  const key = await router.createKey({ plan: TIGHT });
  const asked = { path: PATH, key, model: 'test/answers', stream: false };
  for (let n = 0; n < 52; n += 1) await generate(router.url, asked);
  await expect.poll(writes).toBe(2 + 1 + 10);
  router.advance(60_000);
  await generate(router.url, asked);
  await expect.poll(writes).toBe(2 + 2 + 11);
});

test('a flood of a thousand unknown keys and paths costs ten writes for each status in a minute', async () => {
  const flood = async (path: string) => {
    const headers = { authorization: `Bearer ${mintKey(randomBytes)}` };
    const response = await fetch(router.url + path, { method: 'POST', headers });
    await response.text();
    return response.status;
  };
  const paths = Array.from({ length: 1_000 }, (_, n) => (n % 2 === 0 ? PATH : '/v1/nothing'));
  const statuses = new Set<number>();
  for (let at = 0; at < paths.length; at += 50) {
    for (const status of await Promise.all(paths.slice(at, at + 50).map(flood)))
      statuses.add(status);
  }
  expect([...statuses].toSorted()).toEqual([401, 404]);
  await expect.poll(() => router.proxy.isBusy()).toBe(false);
  expect(writes()).toBe(20);
});

test('a refused request is answered before its record is written, also if the table does not answer', async () => {
  const key = await router.createKey({ plan: { ...TIGHT, quota: 0 } });
  router.proxy.decide(({ table }) => (table === TABLE_NAMES.records ? 'silence' : 'none'));
  const asked = { path: PATH, key, model: 'test/answers', stream: false };
  const startedAt = performance.now();
  for (let n = 0; n < 5; n += 1) expect(await generate(router.url, asked)).toBe('free');
  // Each of the five would have waited for a second.
  expect(performance.now() - startedAt).toBeLessThan(5_000);
  expect(writes()).toBeGreaterThan(0);
});

test.each(['throttled', 'reset'] as const)(
  'a records table that is %s costs no response, and each lost record is logged',
  async (trouble) => {
    const key = await router.createKey();
    router.proxy.decide(({ table }) => (table === TABLE_NAMES.records ? trouble : 'none'));
    const before = failures();
    for (const stream of [true, false]) {
      expect(await generate(router.url, { path: PATH, key, model: 'test/answers', stream })).toBe(
        'charged',
      );
    }
    await expect.poll(failures).toBe(before + 2);
  },
);
