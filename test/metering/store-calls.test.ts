import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { askFor } from './ask.ts';
import type { TableCall, Trouble } from './dynamo-proxy.ts';
import { startTroubledRouter, type TroubledRouter } from './troubled-router.ts';

/** Stands still at the start of a minute, so that no cache is due and no window ends during a test. */
const NOW = Math.ceil(Date.now() / 60_000) * 60_000;

let router: TroubledRouter;
beforeAll(async () => {
  router = await startTroubledRouter({ patience: 30_000, now: () => NOW });
  // Receipts of the provider's counts, which an environment writes in batches until it has 32 of a target.
  const key = await newKey(1_000);
  for (let index = 0; index < 33; index += 1) await request(key);
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
  `${operation === 'UpdateItem' ? 'write' : 'read'} ${table}`;

/** The calls after the first ones, sorted. */
const callsAfter = (first: number): string[] =>
  router.proxy.calls.slice(first).map(nameOf).toSorted();

/** Asserts that `work` causes these calls and no more; a unit is settled while the last bytes are sent. */
const expectCalls = async (work: () => Promise<unknown>, expected: string[]) => {
  const first = router.proxy.calls.length;
  await work();
  await expect.poll(() => callsAfter(first)).toEqual(expected);
  await pause(150);
  expect(callsAfter(first)).toEqual(expected);
};

const WARM = ['write meters', 'write meters', 'write records'];

/** Sends a request, and waits until it is settled and recorded. */
const warmUp = async (key: string) => {
  const first = router.proxy.calls.length;
  await request(key);
  const writes = () => callsAfter(first).filter((name) => name.startsWith('write'));
  await expect.poll(writes).toEqual(WARM);
};

test.each([false, true])(
  'a warm request reads no table, and writes its meter twice and its record once (streamed: %s)',
  async (stream) => {
    const key = await newKey(1_000);
    await warmUp(key);
    await expectCalls(() => request(key, stream), WARM);
  },
);

test('of the writes of a warm request only the reservation has its item returned', async () => {
  const key = await newKey(1_000);
  await warmUp(key);
  const first = router.proxy.calls.length;
  await request(key);
  await expect.poll(() => callsAfter(first)).toEqual(WARM);
  const returning = router.proxy.calls.slice(first).filter(({ returnsItem }) => returnsItem);
  expect(returning.map(nameOf)).toEqual(['write meters']);
});

test.each([
  { when: 'the first request of a key', idleMs: undefined },
  { when: 'a request after a minute without any', idleMs: 60_000 },
])(
  '$when also reads its key, its plan, the breaker and the lessons once each',
  async ({ idleMs }) => {
    const key = await newKey(1_000);
    if (idleMs !== undefined) await warmUp(key);
    // The breaker of the target and the lessons, which other tests have read, are due again.
    router.advance(idleMs ?? 60_000);
    await expectCalls(
      () => request(key),
      ['read keys', 'read meters', 'read meters', 'read plans', ...WARM],
    );
  },
);

test('the first byte of an idle environment waits for one call of the tables: the others are in flight meanwhile', async () => {
  const key = await newKey(1_000);
  await warmUp(key);
  router.advance(60_000);
  const first = router.proxy.calls.length;
  const inFlight = Promise.withResolvers<Trouble>();
  const later = Promise.withResolvers<Trouble>();
  router.proxy.decide(() => inFlight.promise);
  const response = askFor(router.url, { path: PATH, key, model: 'test/answers', stream: true });
  const calls = ['read keys', 'read meters', 'read meters', 'read plans', 'write meters'];
  await expect.poll(() => callsAfter(first)).toEqual(calls);
  router.proxy.decide(() => later.promise);
  inFlight.resolve('none');
  const body = (await response).body?.getReader();
  expect((await body?.read())?.done).toBe(false);
  later.resolve('none');
  await body?.cancel();
});

test('40 concurrent requests of a key in one environment write its meter at most 20 times', async () => {
  const key = await newKey(1_000);
  await warmUp(key);
  const isMeterWrite = (call: TableCall) => nameOf(call) === 'write meters';
  // As far away as a busy table, so that writes meet.
  router.proxy.decide((call) => (isMeterWrite(call) ? 'slow' : 'none'));
  const first = router.proxy.calls.length;
  const statuses = await Promise.all(Array.from({ length: 40 }, () => request(key)));
  expect(new Set(statuses)).toEqual(new Set([200]));
  const usage = async () => {
    const response = await fetch(`${router.url}/v1/usage`, { headers: { 'x-api-key': key } });
    return ((await response.json()) as { period: object }).period;
  };
  await expect.poll(usage).toMatchObject({ used: 41, reserved: 0 });
  const writes = router.proxy.calls.slice(first).filter(isMeterWrite);
  expect(writes.length).toBeLessThanOrEqual(20);
});

test('a denied request writes its meter and its count once, and its record; further ones read the meter once a second', async () => {
  const key = await newKey(1);
  await warmUp(key);
  const deny = async () => expect(await request(key)).toBe(429);
  await expectCalls(deny, ['read meters', 'write meters', 'write records', 'write records']);
  await expectCalls(deny, ['write records']);
  router.advance(1_100);
  await expectCalls(deny, ['read meters', 'write records']);
});

test('a rejected request of a known key writes its record, and after ten in a minute calls no table', async () => {
  const key = await newKey(10);
  await warmUp(key);
  const reject = async () => {
    const response = await askFor(router.url, { path: PATH, key, model: 'no/such-model' });
    expect(response.status).toBe(400);
    await response.text();
  };
  await reject();
  await expectCalls(reject, ['write records']);
  for (let count = 2; count < 10; count += 1) await reject();
  await expectCalls(reject, []);
});
