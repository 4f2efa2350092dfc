import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { askFor } from './ask.ts';
import type { TableCall } from './dynamo-proxy.ts';
import { startTroubledRouter, type TroubledRouter } from './troubled-router.ts';

let router: TroubledRouter;
beforeAll(async () => {
  router = await startTroubledRouter({ patience: 30_000 });
});
beforeEach(() => {
  router.proxy.decide(() => 'none');
});
afterAll(() => router.close());

const newKey = (rpm: number) =>
  router.createKey({ plan: { rpm, quota: 1_000_000, period: 'month' } });

const PATH = '/v1/chat/completions';

const request = async (key: string, stream = false): Promise<number> => {
  const asked = { path: PATH, key, model: 'test/answers', stream };
  const response = await askFor(router.url, asked);
  await response.text();
  return response.status;
};

const nameOf = ({ operation, table }: TableCall): string =>
  `${operation === 'UpdateItem' ? 'write' : 'read'} ${table.replace('local-', '')}`;

/** The calls that `work` causes, as `write meters`, sorted. */
const callsOf = async (work: () => Promise<unknown>): Promise<string[]> => {
  const first = router.proxy.calls.length;
  await work();
  // A unit is settled while its last bytes are sent.
  const calls = () => router.proxy.calls.slice(first).map(nameOf).toSorted();
  let seen = -1;
  const isStill = () => {
    const before = seen;
    seen = calls().length;
    return seen === before;
  };
  await expect.poll(isStill, { timeout: 20_000, interval: 100 }).toBe(true);
  return calls();
};

const WARM = ['write meters', 'write meters', 'write records'];

test.each([false, true])(
  'a warm request reads no table, and writes its meter twice and its record once (streamed: %s)',
  async (stream) => {
    const key = await newKey(1_000);
    await request(key);
    expect(await callsOf(() => request(key, stream))).toEqual(WARM);
  },
);

test.each([
  { when: 'the first request of a key', idleMs: undefined },
  { when: 'a request after a minute without any', idleMs: 60_000 },
])(
  '$when also reads its key, its plan, the breaker and the lessons once each',
  async ({ idleMs }) => {
    const key = await newKey(1_000);
    if (idleMs !== undefined) await request(key);
    // The breaker of the target and the lessons, which other tests have read, are due again.
    router.advance(idleMs ?? 60_000);
    expect(await callsOf(() => request(key))).toEqual([
      ...['read keys', 'read meters', 'read meters', 'read plans'],
      ...WARM,
    ]);
  },
);

test('a denied request writes its meter and its count once, and further ones read the meter once a second', async () => {
  const key = await newKey(1);
  await request(key);
  const deny = async () => expect(await request(key)).toBe(429);
  expect(await callsOf(deny)).toEqual(['read meters', 'write meters', 'write records']);
  expect(await callsOf(deny)).toEqual([]);
  router.advance(1_100);
  expect(await callsOf(deny)).toEqual(['read meters']);
});

test('a rejected request of a known key calls no table, but to count the first one of a minute', async () => {
  const key = await newKey(10);
  await request(key);
  const reject = async () => {
    const response = await askFor(router.url, { path: PATH, key, model: 'no/such-model' });
    expect(response.status).toBe(400);
    await response.text();
  };
  const calls = await callsOf(reject);
  expect(calls).toSatisfy((names: string[]) => names.every((name) => name === 'write records'));
  expect(await callsOf(reject)).toEqual([]);
});
