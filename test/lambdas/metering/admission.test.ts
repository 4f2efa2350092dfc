import { describe, expect, test } from 'vitest';
import type { Caller } from '../../../lambdas/keys/authenticate.ts';
import { limitHeaders } from '../../../lambdas/metering/limits.ts';
import { errorOf } from '../../support/error-of.ts';
import { callerWith, NOW, newId, useMeterBench } from './meter-bench.ts';

const setUp = useMeterBench();

describe('an admitted request', () => {
  test("an admitted request's limit headers include the request itself", async () => {
    const { admit } = setUp();
    const caller = callerWith({ rpm: 60, quota: 1_000 });
    await admit(caller);
    expect(limitHeaders((await admit(caller)).limits, NOW)).toEqual({
      'x-ratelimit-limit-requests': '60',
      'x-ratelimit-remaining-requests': '58',
      'x-ratelimit-reset-requests': '40s',
      'x-quota-limit': '1000',
      'x-quota-remaining': '998',
      'x-quota-reset': '2026-12-01T00:00:00Z',
    });
  });

  test('a completed request costs two writes', async () => {
    const { admit, table } = setUp();
    const admission = await admit(callerWith({}));
    await admission.charge();
    await admission.finished();
    expect(table.calls).toEqual(['reserve', 'charge']);
  });

  test("a refund frees the period's quota at once, but not the minute's", async () => {
    const { admit } = setUp();
    const caller = callerWith({ rpm: 2, quota: 1 });
    const first = await admit(caller);
    expect((await errorOf(() => admit(caller))).headers).toMatchObject({ 'retry-after': '1' });
    await first.refund();
    await (await admit(caller)).charge();
    expect((await errorOf(() => admit(caller))).status).toBe(402);
  });

  test('a refund in December returns a unit reserved in November to November', async () => {
    const { clock, admit } = setUp(Date.parse('2026-11-30T23:59:59Z'));
    const caller = callerWith({ quota: 1 });
    const november = await admit(caller);
    clock.advance(2_000);
    const december = await admit(caller);
    await november.refund();
    expect(december.limits.quota).toMatchObject({
      remaining: 0,
      resetAt: Date.parse('2027-01-01T00:00:00Z'),
    });
    await december.charge();
    clock.advance(60_000);
    expect(await errorOf(() => admit(caller))).toMatchObject({ status: 402 });
  });
});

describe('a denied request', () => {
  test('a request over its rate gets 429 with the exact wait', async () => {
    const { admit } = setUp();
    const caller = callerWith({ rpm: 1 });
    await admit(caller);
    expect(await errorOf(() => admit(caller))).toMatchObject({
      type: 'rate_limit_error',
      status: 429,
      headers: {
        'retry-after': '40',
        'retry-after-ms': '39500',
        'x-ratelimit-limit-requests': '1',
        'x-ratelimit-remaining-requests': '0',
        'x-quota-remaining': '99',
      },
    });
  });

  test('a request over its quota gets 402 with the time of the reset and x-should-retry: false', async () => {
    const { admit } = setUp();
    const caller = callerWith({ quota: 1, period: 'hour' });
    await (await admit(caller)).charge();
    expect(await errorOf(() => admit(caller))).toMatchObject({
      type: 'insufficient_quota',
      status: 402,
      message: 'The quota of 1 requests per hour is used up. Retry after 2026-11-21T12:00:00Z.',
      headers: {
        'x-should-retry': 'false',
        'x-quota-remaining': '0',
        'x-quota-reset': '2026-11-21T12:00:00Z',
      },
    });
  });

  test('a request over both limits gets 402', async () => {
    const { admit } = setUp();
    const caller = callerWith({ rpm: 1, quota: 1 });
    await (await admit(caller)).charge();
    expect((await errorOf(() => admit(caller))).status).toBe(402);
  });

  test('a request over a quota whose last unit is in flight gets 429 with retry-after: 1 and x-should-retry: true', async () => {
    const { admit } = setUp();
    const caller = callerWith({ quota: 1 });
    const running = await admit(caller);
    // The second comes from the cache of limits.
    for (const _ of [1, 2]) {
      expect(await errorOf(() => admit(caller))).toMatchObject({
        type: 'rate_limit_error',
        status: 429,
        message:
          'The last of 1 requests of the quota are in flight. Retry in a second: one that fails is refunded.',
        headers: {
          'retry-after': '1',
          'retry-after-ms': '1000',
          'x-should-retry': 'true',
          'x-quota-remaining': '0',
        },
      });
    }
    await running.charge();
    expect((await errorOf(() => admit(caller))).status).toBe(402);
  });

  test('a request over its concurrency gets 429 with retry-after: 1 until one in flight ends', async () => {
    const { admit } = setUp();
    const caller = callerWith({ concurrency: 2 });
    const [first] = [await admit(caller), await admit(caller)];
    for (const _ of [1, 2]) {
      expect(await errorOf(() => admit(caller))).toMatchObject({
        type: 'rate_limit_error',
        status: 429,
        message: 'The limit of 2 concurrent requests is reached. Retry when one of them has ended.',
        headers: { 'retry-after': '1', 'x-should-retry': 'true', 'x-quota-remaining': '98' },
      });
    }
    await first?.charge();
    await admit(caller);
    expect((await errorOf(() => admit(caller))).status).toBe(429);
  });

  test('a request with a revoked key gets 401', async () => {
    const { admit, table } = setUp();
    const caller = callerWith({});
    await table.store.endKey(caller.meterId, caller.keyId, NOW);
    expect(await errorOf(() => admit(caller))).toMatchObject({
      status: 401,
      headers: { 'x-should-retry': 'false' },
    });
  });

  test.each([
    ['2026-11-21T11:30:00.000Z', '60', '60000'],
    ['2026-11-21T11:30:59.999Z', '1', '1'],
  ])('a request over its rate at %s gets retry-after: %s', async (time, seconds, ms) => {
    const { admit } = setUp(Date.parse(time));
    const caller = callerWith({ rpm: 1 });
    await admit(caller);
    expect((await errorOf(() => admit(caller))).headers).toMatchObject({
      'retry-after': seconds,
      'retry-after-ms': ms,
    });
  });
});

describe('a plan that admits no requests', () => {
  test.each([
    { limit: { rpm: 0 }, status: 429, why: 'its limit is 0 requests per minute' },
    { limit: { quota: 0 }, status: 402, why: 'its quota is 0 requests per month' },
    { limit: { rpm: 0, quota: 0 }, status: 402, why: 'its quota is 0 requests per month' },
  ])('a plan of $limit gets $status without retry-after', async ({ limit, status, why }) => {
    const { admit } = setUp();
    const caller = callerWith({ ...limit, period: 'month' });
    // The second comes from the cache of limits.
    for (const _ of [1, 2]) {
      const error = await errorOf(() => admit(caller));
      expect(error).toMatchObject({
        status,
        message: `The plan of this API key admits no requests: ${why}. Do not retry.`,
        headers: { 'x-should-retry': 'false', 'x-quota-limit': expect.any(String) },
      });
      expect(error.headers).not.toHaveProperty('retry-after');
      expect(error.headers).not.toHaveProperty('retry-after-ms');
    }
  });
});

describe('concurrent requests', () => {
  test.each([
    { rpm: 60, quota: 1_000, status: 429 },
    { rpm: 1_000, quota: 60, status: 429 },
    { rpm: 1_000, quota: 1_000, concurrency: 60, status: 429 },
  ])(
    'of 200 concurrent requests with rpm $rpm, quota $quota and concurrency $concurrency 60 are admitted and 140 get $status',
    async ({ status, ...plan }) => {
      const { environment } = setUp();
      const caller = callerWith(plan);
      const environments = [environment(), environment(), environment(), environment()];
      const results = await Promise.allSettled(
        Array.from({ length: 50 }).flatMap(() =>
          environments.map((meter) => meter.admit(caller, newId('req'))),
        ),
      );
      const refused = results.filter((result) => result.status === 'rejected');
      expect(refused).toHaveLength(140);
      expect(new Set(refused.map(({ reason }) => reason.status))).toEqual(new Set([status]));
    },
  );

  test('no hour admits more than its quota when environments with clock skew cross its end', async () => {
    const { environment, clock } = setUp(Date.parse('2026-11-21T11:59:58.500Z'));
    const caller = callerWith({ rpm: 20, quota: 15, period: 'hour' });
    const environments = [environment(-3_000), environment(0), environment(3_000)];
    const admitted: string[] = [];
    for (let step = 0; step < 8; step += 1) {
      const round = Array.from({ length: 8 }).flatMap(() =>
        environments.map(async (meter) => {
          const { limits } = await meter.admit(caller, newId('req'));
          admitted.push(new Date(limits.quota.resetAt).toISOString());
        }),
      );
      await Promise.allSettled(round);
      clock.advance(1_000);
    }
    const inHour = (end: string) => admitted.filter((hour) => hour === end).length;
    expect([inHour('2026-11-21T12:00:00.000Z'), inHour('2026-11-21T13:00:00.000Z')]).toEqual([
      15, 15,
    ]);
  });
});

describe('a changed period', () => {
  test('a plan whose period changes counts the new period from zero and keeps the old count', async () => {
    const { admit } = setUp();
    const monthly = callerWith({ quota: 5, period: 'month' });
    const daily: Caller = { ...monthly, plan: { ...monthly.plan, period: 'day' } };
    const left = async (caller: Caller) => (await admit(caller)).limits.quota.remaining;
    expect([await left(monthly), await left(daily), await left(monthly)]).toEqual([4, 4, 3]);
  });
});

describe('free calls', () => {
  test('free calls are counted separately, up to 600 or ten times the rate, and a flood beyond costs one write', async () => {
    const { meter, admit, table } = setUp();
    const caller = callerWith({ rpm: 1, quota: 1 });
    await Promise.all(Array.from({ length: 600 }, () => meter.admitFree(caller)));
    expect(await errorOf(() => meter.admitFree(caller))).toMatchObject({
      status: 429,
      headers: { 'retry-after': '40', 'retry-after-ms': '39500' },
    });
    table.calls.length = 0;
    await errorOf(() => meter.admitFree(caller));
    expect(table.calls).toEqual([]);
    await admit(caller);
  });

  test('a plan of 70 requests a minute has 700 free calls', async () => {
    const { meter } = setUp();
    const caller = callerWith({ rpm: 70 });
    await Promise.all(Array.from({ length: 700 }, () => meter.admitFree(caller)));
    expect((await errorOf(() => meter.admitFree(caller))).message).toContain('700 free requests');
  });
});
