import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Caller } from '../../../lambdas/keys/caller.ts';
import type { LogEvent } from '../../../lambdas/log-events.ts';
import { limitHeaders } from '../../../lambdas/metering/limit-headers.ts';
import { createMeter } from '../../../lambdas/metering/meter.ts';
import type { MeterStore } from '../../../lambdas/stores/meter-store.ts';
import type { Plan } from '../../../lambdas/stores/plan-store.ts';
import { createLog } from '../../../lambdas/support/log.ts';
import {
  createUnreachableClient,
  startDynamo,
  storesOn,
  type TestDynamo,
} from '../../support/dynamo.ts';
import { errorOf } from '../../support/error-of.ts';
import { parseLine } from '../../support/log-line.ts';
import { createManualClock } from '../../support/manual-clock.ts';

const NOW = Date.parse('2026-11-21T11:30:20.500Z');

let dynamo: TestDynamo;
beforeAll(async () => {
  dynamo = await startDynamo();
});
afterAll(() => dynamo.close());

let counter = 0;
const newId = (kind: string) => {
  counter += 1;
  return `${kind}_${counter}`;
};

const callerWith = (plan: Partial<Plan>): Caller => ({
  keyId: 'key_a',
  projectId: 'prj',
  meterId: newId('mtr'),
  plan: { id: 'plan', rpm: 100, quota: 100, period: 'month', ...plan },
});

/** Counts the calls that reach the table, and can cut the way to it. */
const observed = (store: MeterStore) => {
  const calls: string[] = [];
  const unreachable = storesOn(createUnreachableClient()).meters;
  let target = store;
  const proxy = new Proxy(store, {
    get: (_, verb: keyof MeterStore) => {
      calls.push(verb);
      return target[verb];
    },
  });
  return {
    store: proxy,
    calls,
    cut: () => {
      target = unreachable;
    },
    mend: () => {
      target = store;
    },
  };
};

const setUp = (start = NOW) => {
  const clock = createManualClock(start);
  const lines: string[] = [];
  const log = createLog((line) => lines.push(line));
  const table = observed(storesOn(dynamo.client).meters);
  const environment = (offset = 0) =>
    createMeter({ store: table.store, clock: { ...clock, now: () => clock.now() + offset }, log });
  const meter = environment();
  const admit = (caller: Caller) => meter.admit(caller, newId('req'));
  return { clock, lines, table, meter, environment, admit };
};

const eventsIn = (lines: string[]): LogEvent[] => lines.map((line) => parseLine(line).event);

describe('an admitted request', () => {
  test('is told its limits with itself counted', async () => {
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

  test('costs three writes', async () => {
    const { admit, table } = setUp();
    const admission = await admit(callerWith({}));
    await admission.commit();
    await admission.close();
    expect(table.calls).toEqual(['reserve', 'commit', 'close']);
  });

  test('that is refunded leaves room at once, in its period but not in its minute', async () => {
    const { admit } = setUp();
    const caller = callerWith({ rpm: 2, quota: 1 });
    const first = await admit(caller);
    expect((await errorOf(() => admit(caller))).status).toBe(402);
    await first.refund();
    await admit(caller);
    expect((await errorOf(() => admit(caller))).status).toBe(402);
  });

  test('gives its unit back to the month it came from', async () => {
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
    clock.advance(60_000);
    expect(await errorOf(() => admit(caller))).toMatchObject({ status: 402 });
  });
});

describe('a refused request', () => {
  test('over its rate gets 429 and the exact wait', async () => {
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

  test('over its quota gets 402, the time to retry, and no invitation to do so', async () => {
    const { admit } = setUp();
    const caller = callerWith({ quota: 0, period: 'hour' });
    expect(await errorOf(() => admit(caller))).toMatchObject({
      type: 'insufficient_quota',
      status: 402,
      message: 'The quota of 0 requests per hour is used up. Retry after 2026-11-21T12:00:00Z.',
      headers: { 'retry-after': '1780', 'x-should-retry': 'false', 'x-quota-remaining': '0' },
    });
  });

  test('over both gets 402', async () => {
    const { admit } = setUp();
    const caller = callerWith({ rpm: 1, quota: 1 });
    await admit(caller);
    expect((await errorOf(() => admit(caller))).status).toBe(402);
  });

  test('with an ended key gets 401', async () => {
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
  ])('at %s waits %s s', async (time, seconds, ms) => {
    const { admit } = setUp(Date.parse(time));
    expect((await errorOf(() => admit(callerWith({ rpm: 0 })))).headers).toMatchObject({
      'retry-after': seconds,
      'retry-after-ms': ms,
    });
  });
});

describe('two hundred callers at once', () => {
  test.each([
    { rpm: 60, quota: 1_000, refusedWith: 429 },
    { rpm: 1_000, quota: 60, refusedWith: 402 },
    { rpm: 60, quota: 60, refusedWith: 402 },
  ])('with rpm $rpm and quota $quota: 60 pass, 140 get $refusedWith', async (plan) => {
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
    expect(new Set(refused.map(({ reason }) => reason.status))).toEqual(
      new Set([plan.refusedWith]),
    );
  });

  test('across a border, with clocks that differ: no minute and no hour admits more than its limit', async () => {
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

describe('a flood of refused calls', () => {
  test('costs one write of a full minute, and a read a second', async () => {
    const { admit, table, clock } = setUp(Date.parse('2026-11-21T11:30:00Z'));
    const caller = callerWith({ rpm: 1 });
    await admit(caller);
    table.calls.length = 0;
    for (let n = 0; n < 59; n += 1) {
      for (let k = 0; k < 3; k += 1) expect((await errorOf(() => admit(caller))).status).toBe(429);
      clock.advance(1_000);
    }
    expect(table.calls.filter((call) => call === 'reserve')).toHaveLength(1);
    expect(table.calls.filter((call) => call === 'readUsage')).toHaveLength(58);
    clock.advance(1_000);
    await admit(caller);
  });

  test('goes on without a write when requests of its minute fail and are given back', async () => {
    const { admit, table } = setUp();
    const caller = callerWith({ rpm: 3, quota: 100 });
    const failing = [await admit(caller), await admit(caller), await admit(caller)];
    expect((await errorOf(() => admit(caller))).status).toBe(429);
    table.calls.length = 0;
    for (const admission of failing) {
      await admission.refund();
      expect((await errorOf(() => admit(caller))).status).toBe(429);
    }
    expect(table.calls.filter((call) => call === 'reserve')).toEqual([]);
  });

  test('in an environment that serves many at once costs at most a write for each that was under way', async () => {
    const { admit, table } = setUp();
    const caller = callerWith({ rpm: 5 });
    const statuses = async (count: number) => {
      const results = await Promise.allSettled(Array.from({ length: count }, () => admit(caller)));
      return results.filter(({ status }) => status === 'rejected').length;
    };
    expect(await statuses(20)).toBe(15);
    expect(await statuses(500)).toBe(500);
    expect(table.calls.filter((call) => call === 'reserve')).toHaveLength(20);
  });

  test('of a revoked key costs one write a minute', async () => {
    const { admit, table } = setUp();
    const caller = callerWith({});
    await table.store.endKey(caller.meterId, caller.keyId, 0);
    for (let n = 0; n < 20; n += 1) {
      expect((await errorOf(() => admit(caller))).status).toBe(401);
    }
    expect(table.calls.filter((call) => call === 'reserve')).toHaveLength(1);
  });

  test('turns into 402 when the quota runs out elsewhere in the minute', async () => {
    const { admit, environment, clock } = setUp();
    const caller = callerWith({ rpm: 1, quota: 2 });
    await admit(caller);
    expect((await errorOf(() => admit(caller))).status).toBe(429);
    await environment(60_000).admit(caller, newId('req'));
    clock.advance(1_000);
    expect((await errorOf(() => admit(caller))).status).toBe(402);
  });

  test('of an exhausted quota ends within a second of a refund elsewhere', async () => {
    const { admit, environment, clock } = setUp();
    const caller = callerWith({ quota: 1 });
    const elsewhere = await environment().admit(caller, newId('req'));
    expect((await errorOf(() => admit(caller))).status).toBe(402);
    await elsewhere.refund();
    clock.advance(1_000);
    await admit(caller);
  });

  test('is forgotten when the plan is raised', async () => {
    const { admit } = setUp();
    const caller = callerWith({ rpm: 1, quota: 1 });
    await admit(caller);
    expect((await errorOf(() => admit(caller))).status).toBe(402);
    const raised = { ...caller, plan: { ...caller.plan, rpm: 2, quota: 2 } };
    expect((await admit(raised)).limits.quota.remaining).toBe(0);
  });
});

describe('a process that died', () => {
  test('costs nobody else a refusal 17 minutes later', async () => {
    const { admit, environment, clock, lines } = setUp();
    const caller = callerWith({ quota: 2 });
    await environment().admit(caller, newId('req'));
    await environment().admit(caller, newId('req'));
    clock.advance(17 * 60_000);
    const results = await Promise.allSettled([admit(caller), admit(caller), admit(caller)]);
    expect(results.map(({ status }) => status).toSorted()).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
    ]);
    expect(lines.join('')).toContain('"event":"meter_units_reaped"');
  });

  test('is cleared away by the next request that passes', async () => {
    const { admit, environment, clock } = setUp();
    const caller = callerWith({ quota: 10 });
    await environment().admit(caller, newId('req'));
    clock.advance(17 * 60_000);
    const next = await admit(caller);
    await next.commit();
    await next.close();
    expect((await admit(caller)).limits.quota.remaining).toBe(8);
  });
});

describe('an answer that took longer than any may', () => {
  test('is not sent when its unit was reaped: 503, and nothing is charged', async () => {
    const { admit, meter, clock } = setUp();
    const caller = callerWith({ quota: 3 });
    const admission = await admit(caller);
    clock.advance(17 * 60_000);
    expect((await meter.usage(caller)).period.used).toBe(0);
    expect((await errorOf(() => admission.commit())).status).toBe(503);
    await admission.refund();
    expect((await meter.usage(caller)).period.used).toBe(0);
  });
});

describe('a plan whose period changes', () => {
  test('counts the new one from zero, and goes on with the old one if it changes back', async () => {
    const { admit } = setUp();
    const monthly = callerWith({ quota: 5, period: 'month' });
    const daily: Caller = { ...monthly, plan: { ...monthly.plan, period: 'day' } };
    const left = async (caller: Caller) => (await admit(caller)).limits.quota.remaining;
    expect([await left(monthly), await left(daily), await left(monthly)]).toEqual([4, 4, 3]);
  });
});

describe('a look at the usage', () => {
  test('shows what is used and left, and takes nothing', async () => {
    const { admit, meter } = setUp();
    const caller = callerWith({ rpm: 5, quota: 10 });
    expect(await meter.usage(caller)).toMatchObject({ lastUsedAt: undefined });
    await admit(caller);
    const usage = {
      minute: { limit: 5, used: 1, remaining: 4, resetAt: Date.parse('2026-11-21T11:31:00Z') },
      period: { limit: 10, used: 1, remaining: 9, resetAt: Date.parse('2026-12-01T00:00:00Z') },
      lastUsedAt: NOW,
    };
    expect(await meter.usage(caller)).toEqual(usage);
    expect(await meter.usage(caller)).toEqual(usage);
  });

  test('gives back what a dead process held for 17 minutes, though nobody else calls', async () => {
    const { admit, meter, clock } = setUp();
    const caller = callerWith({ quota: 3 });
    await admit(caller);
    clock.advance(17 * 60_000);
    expect((await meter.usage(caller)).period.used).toBe(0);
  });

  test('never shows less than nothing left after a plan was lowered', async () => {
    const { admit, meter } = setUp();
    const caller = callerWith({ quota: 3 });
    await admit(caller);
    await admit(caller);
    const lowered = { ...caller, plan: { ...caller.plan, quota: 1 } };
    expect((await meter.usage(lowered)).period).toMatchObject({ used: 2, limit: 1, remaining: 0 });
  });

  test('is refused with an ended key', async () => {
    const { table, meter } = setUp();
    const caller = callerWith({});
    await table.store.endKey(caller.meterId, caller.keyId, 0);
    expect((await errorOf(() => meter.usage(caller))).status).toBe(401);
  });
});

describe('while the table does not answer', () => {
  test('nothing is admitted: 503 and a second to wait', async () => {
    const { meter, table } = setUp();
    table.cut();
    const caller = callerWith({});
    const verbs = [() => meter.admit(caller, newId('req')), () => meter.admitFree(caller)];
    for (const verb of verbs) {
      expect(await errorOf(verb)).toMatchObject({
        type: 'api_error',
        status: 503,
        headers: { 'retry-after': '1' },
      });
    }
  });

  test('nothing is sent: a commit fails with 503', async () => {
    const { admit, table } = setUp();
    const admission = await admit(callerWith({}));
    table.cut();
    expect((await errorOf(() => admission.commit())).status).toBe(503);
  });

  test('a refund is tried again until it is written', async () => {
    const { admit, table, clock, lines } = setUp();
    const caller = callerWith({ quota: 1 });
    const admission = await admit(caller);
    table.cut();
    await admission.refund();
    table.mend();
    const closed = admission.close();
    clock.advance(100);
    await closed;
    expect(eventsIn(lines)).toEqual(['meter_refund_late', 'meter_refund_written']);
    expect((await admit(caller)).limits.quota.remaining).toBe(0);
  });

  test('a refund that cannot be written is logged with its ids', async () => {
    const { meter, table, clock, lines } = setUp();
    const caller = callerWith({});
    const admission = await meter.admit(caller, 'req_lost');
    table.cut();
    await admission.refund();
    let isClosed = false;
    const closed = admission.close().then(() => {
      isClosed = true;
    });
    while (!isClosed) {
      clock.advance(2_000);
      await new Promise(setImmediate);
    }
    await closed;
    const ids = { meterId: caller.meterId, requestId: 'req_lost' };
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { event: 'meter_refund_late', ...ids },
      { event: 'meter_refund_pending', ...ids },
    ]);
  });
});

describe('free calls', () => {
  test('are counted apart, up to 600 or ten times the rate, and a flood beyond costs one write', async () => {
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
});
