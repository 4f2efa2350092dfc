import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { generate } from '../metering/ledger.ts';
import { startTroubledRouter, type TroubledRouter } from '../metering/troubled-router.ts';
import { TABLE_NAMES } from '../support/dynamo.ts';

const TIGHT = { rpm: 1_000, quota: 2, period: 'month' } as const;

let router: TroubledRouter;
beforeAll(async () => {
  router = await startTroubledRouter({ patience: 30_000 });
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

test('fifty denied requests of a minute are counted in two writes', async () => {
  const key = await router.createKey({ plan: TIGHT });
  const asked = { path: PATH, key, model: 'test/answers', stream: false };
  for (let n = 0; n < 52; n += 1) await generate(router.url, asked);
  expect(writes()).toBe(3);
  router.advance(60_000);
  await generate(router.url, asked);
  expect(writes()).toBe(4);
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
