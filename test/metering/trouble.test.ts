import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { mintKey } from '../../lambdas/keys/api-key.ts';
import type { LogEvent } from '../../lambdas/log-events.ts';
import { createRandom } from '../simulation/random.ts';
import type { TableCall, Trouble } from './dynamo-proxy.ts';
import { startTroubledRouter, type TroubledRouter } from './troubled-router.ts';

let router: TroubledRouter;
beforeAll(async () => {
  router = await startTroubledRouter();
});
beforeEach(() => {
  router.proxy.decide(() => 'none');
  router.lines.length = 0;
});
afterAll(() => router.close());

const REAPED_AFTER = 18 * 60_000;
const UNAVAILABLE = { status: 503, type: 'api_error', retryAfter: '1' };

/** Id of the last generation. */
let lastId: string | null;

const generate = async (key: string, model = 'test/answers') => {
  const response = await fetch(`${router.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'say hi' }] }),
  });
  const body = (await response.json()) as { error?: { type: string } };
  const retryAfter = response.headers.get('retry-after');
  lastId = response.headers.get('x-request-id');
  return { status: response.status, type: body.error?.type, retryAfter };
};

const get = async (key: string, path: string) => {
  const response = await fetch(`${router.url}${path}`, { headers: { 'x-api-key': key } });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
};

const usageOf = async (key: string): Promise<{ used: number; reserved: number }> => {
  const { body } = await get(key, '/v1/usage');
  const { used, reserved } = (body as { period: { used: number; reserved: number } }).period;
  return { used, reserved };
};

const recordOf = async (key: string) => (await get(key, `/v1/requests/${lastId}`)).body;

const newKey = (quota = 1_000) =>
  router.createKey({ plan: { rpm: 1_000_000, quota, period: 'month' } });

/** A key that the router has cached. */
const knownKey = async (quota?: number): Promise<string> => {
  const key = await newKey(quota);
  await get(key, '/v1/models');
  return key;
};

const isWrite = ({ operation, key }: TableCall) =>
  operation === 'UpdateItem' && key.startsWith('mtr') && !key.includes('/free/');

/** Writes of meters without earlier writes: requests that other tests left running do not count. */
const newWrites = (): ((call: TableCall) => boolean) => {
  const known = new Set(router.proxy.calls.filter(isWrite).map(({ key }) => key));
  return (call) => isWrite(call) && !known.has(call.key);
};

/** Troubles writes of new meters; `decide` is given their number, from 1. */
const troubleWrites = (decide: (n: number) => Trouble) => {
  const isNew = newWrites();
  let count = 0;
  router.proxy.decide((call) => {
    if (!isNew(call)) return 'none';
    count += 1;
    return decide(count);
  });
};

const eventually = async (check: () => Promise<boolean>): Promise<void> => {
  while (!(await check())) await new Promise((resolve) => setTimeout(resolve, 50));
};

const events = () => router.lines.map(({ event }) => event);

const idsOf = (event: LogEvent) =>
  router.lines.filter((line) => line.event === event).map(({ requestId }) => requestId);

const isRefundOver = (id: string | undefined) =>
  [...idsOf('meter_refund_written'), ...idsOf('meter_refund_pending')].includes(id);

describe('an unavailable meters table', () => {
  test.each(['throttled', 'reset', 'silence'] as const)(
    'an unavailable meters table (%s) admits and charges no request',
    async (trouble) => {
      const key = await knownKey();
      const isNew = newWrites();
      troubleWrites(() => trouble);
      expect(await generate(key)).toEqual(UNAVAILABLE);
      // Three attempts to reserve and at most three of a refund: later ones are not waited for.
      expect(router.proxy.calls.filter(isNew).length).toBeLessThanOrEqual(6);
      router.proxy.decide(() => 'none');
      router.advance(REAPED_AFTER);
      await eventually(async () => (await usageOf(key)).reserved === 0);
      expect(await usageOf(key)).toEqual({ used: 0, reserved: 0 });
    },
  );

  test('a table that fails at the charge delays the response by a second, and the unit is charged once it recovers', async () => {
    const key = await knownKey(1);
    troubleWrites((n) => (n >= 2 && n <= 4 ? 'silence' : 'none'));
    expect(await generate(key)).toMatchObject({ status: 200 });
    expect(await usageOf(key)).toEqual({ used: 0, reserved: 1 });
    await eventually(async () => (await usageOf(key)).used === 1);
    expect(await usageOf(key)).toEqual({ used: 1, reserved: 0 });
  });

  test('a table that fails at the charge until its last retry refunds the unit 17 minutes later, and the record says that it is free', async () => {
    const key = await knownKey(1);
    troubleWrites((n) => (n >= 2 ? 'reset' : 'none'));
    expect(await generate(key)).toMatchObject({ status: 200 });
    await eventually(async () => events().includes('meter_charge_pending'));
    router.proxy.decide(() => 'none');
    // Its record said that it is charged, as long as that was likely.
    await eventually(async () => !(await recordOf(key)).charged);
    expect(await recordOf(key)).toMatchObject({
      outcome: 'finished',
      charged_why: 'not charged: the charge could not be written',
      whose_fault: 'none',
    });
    expect(await usageOf(key)).toEqual({ used: 0, reserved: 1 });
    router.advance(REAPED_AFTER);
    expect(await usageOf(key)).toEqual({ used: 0, reserved: 0 });
  });

  test('a table that fails at the refund leaves a log line with the ids of the unit', async () => {
    const key = await knownKey();
    troubleWrites((n) => (n >= 2 ? 'reset' : 'none'));
    expect((await generate(key, 'test/refuses')).status).toBe(503);
    await eventually(async () => events().includes('meter_refund_pending'));
    router.proxy.decide(() => 'none');
    expect(await usageOf(key)).toEqual({ used: 0, reserved: 1 });
    router.advance(REAPED_AFTER);
    expect(await usageOf(key)).toEqual({ used: 0, reserved: 0 });
  });
});

describe('faulty writes', () => {
  test.each(['lost answer', 'late', 'slow'] as const)(
    'a table whose writes have the fault "%s" charges each response once',
    async (trouble) => {
      const key = await knownKey();
      // The first attempt of the reservation, and of the charge that follows its repeat.
      troubleWrites((n) => (n === 1 || n === 3 ? trouble : 'none'));
      expect(await generate(key)).toMatchObject({ status: 200 });
      await eventually(async () => (await usageOf(key)).reserved === 0);
      router.advance(REAPED_AFTER);
      expect(await usageOf(key)).toEqual({ used: 1, reserved: 0 });
    },
  );

  test('a table whose writes all arrive twice admits exactly the quota', async () => {
    const key = await knownKey(10);
    troubleWrites(() => 'twice');
    const statuses: number[] = [];
    // A few at a time: a call has a second, and the table is busy with each twice.
    for (let wave = 0; wave < 5; wave += 1) {
      const asked = Array.from({ length: 3 }, () => generate(key));
      statuses.push(...(await Promise.all(asked)).map(({ status }) => status));
    }
    // 402, or 429 while the last units are in flight.
    expect(statuses.filter((status) => status === 200)).toHaveLength(10);
    expect(statuses.filter((status) => status !== 402 && status !== 429)).toHaveLength(10);
    expect(await usageOf(key)).toEqual({ used: 10, reserved: 0 });
    expect((await generate(key)).status).toBe(402);
  });

  test('a table whose writes have random faults charges what the callers received', async () => {
    const random = createRandom(7);
    const key = await knownKey();
    const kinds: Trouble[] = ['reset', 'lost answer', 'late', 'slow', 'twice', 'throttled'];
    troubleWrites(() => (random.chance(0.25) ? (kinds[random.between(0, 5)] ?? 'none') : 'none'));
    const models = ['test/answers', 'test/answers', 'test/refuses'];
    const statuses: number[] = [];
    // A few at a time: 45 at once outlast the second that a call has, where the machine is busy.
    for (let wave = 0; wave < 5; wave += 1) {
      const asked = Array.from({ length: 9 }, (_, n) => generate(key, models[n % 3]));
      statuses.push(...(await Promise.all(asked)).map(({ status }) => status));
    }
    router.proxy.decide(() => 'none');
    const answered = statuses.filter((status) => status === 200).length;
    expect(answered).toBeGreaterThan(15);
    await eventually(async () => idsOf('meter_refund_late').every(isRefundOver));
    await eventually(async () => (await usageOf(key)).reserved === 0);
    expect(await usageOf(key)).toEqual({ used: answered, reserved: 0 });
  });
});

describe('unavailable keys and plans tables', () => {
  const cutOff = (trouble: Trouble) =>
    router.proxy.decide((call) => (/keys|plans/.test(call.table) ? trouble : 'none'));

  test.each(['reset', 'throttled'] as const)(
    'unavailable keys and plans tables (%s) admit a cached key for ten minutes, then 503',
    async (trouble) => {
      const key = await newKey();
      expect((await generate(key)).status).toBe(200);
      cutOff(trouble);
      for (const seconds of [15, 300, 270]) {
        router.advance(seconds * 1_000);
        expect((await generate(key)).status).toBe(200);
      }
      router.advance(20_000);
      expect(await generate(key)).toEqual(UNAVAILABLE);
      expect((await get(key, '/v1/models')).status).toBe(503);
    },
  );

  test('unavailable keys and plans tables do not delay a cached key', async () => {
    const key = await knownKey();
    cutOff('silence');
    router.advance(15_000);
    const before = router.proxy.calls.length;
    expect((await generate(key)).status).toBe(200);
    // One attempt each, and on a busy machine a second: had they been waited for, there would be six.
    const reads = router.proxy.calls.slice(before).filter(({ table }) => /keys|plans/.test(table));
    expect(reads.length).toBeGreaterThanOrEqual(2);
    expect(reads.length).toBeLessThan(6);
  });

  test('unavailable keys and plans tables give an uncached key 503, never 401', async () => {
    cutOff('reset');
    expect(await generate(mintKey(randomBytes))).toEqual(UNAVAILABLE);
  });
});
