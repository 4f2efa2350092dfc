import { describe, expect, test } from 'vitest';
import { errorOf } from '../../support/error-of.ts';
import { callerWith, NOW, newId, useMeterBench } from './meter-bench.ts';

const setUp = useMeterBench();

describe('cached limit errors', () => {
  test('a flood of rate-limited requests costs one write a minute and one read a second', async () => {
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

  test('a flood of rate-limited requests costs no write while admitted requests are refunded', async () => {
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

  test('a flood in an environment with concurrent requests costs at most one write per request in flight', async () => {
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

  test('a flood of requests with a revoked key costs one write a minute', async () => {
    const { admit, table } = setUp();
    const caller = callerWith({});
    await table.store.revokeKey(caller.meterId, caller.keyId, NOW);
    for (let n = 0; n < 20; n += 1) {
      expect((await errorOf(() => admit(caller))).status).toBe(401);
    }
    expect(table.calls.filter((call) => call === 'reserve')).toHaveLength(1);
  });

  test('a cached 429 becomes 402 when the quota runs out in another environment within the minute', async () => {
    const { admit, environment, clock } = setUp();
    const caller = callerWith({ rpm: 1, quota: 2 });
    await (await admit(caller)).charge();
    expect((await errorOf(() => admit(caller))).status).toBe(429);
    await (await environment(60_000).admit(caller, newId('req'))).charge();
    clock.advance(1_000);
    expect((await errorOf(() => admit(caller))).status).toBe(402);
  });

  test('a cached 429 of a full minute ends at once when this environment withdraws a request', async () => {
    const { admit } = setUp();
    const caller = callerWith({ rpm: 1 });
    const withdrawn = await admit(caller);
    for (const _ of [1, 2]) expect((await errorOf(() => admit(caller))).status).toBe(429);
    await withdrawn.withdraw();
    await admit(caller);
  });

  test.each([
    { limit: 'quota', plan: { quota: 1 } },
    { limit: 'concurrency', plan: { concurrency: 1 } },
  ])(
    'a cached 429 of a full $limit ends at once when another environment refunds the unit, 15 times of 15',
    async ({ plan }) => {
      const { admit, environment } = setUp();
      const other = environment();
      for (let n = 0; n < 15; n += 1) {
        const caller = callerWith(plan);
        const elsewhere = await other.admit(caller, newId('req'));
        for (const _ of [1, 2]) {
          expect((await errorOf(() => admit(caller))).headers).toMatchObject({
            'retry-after': '1',
          });
        }
        await elsewhere.refund();
        await admit(caller);
      }
    },
  );

  test('a flood while the last unit is in flight costs one write, and one read after another', async () => {
    const { admit, table } = setUp();
    const caller = callerWith({ quota: 1 });
    await admit(caller);
    await errorOf(() => admit(caller));
    table.calls.length = 0;
    const flood = Array.from({ length: 50 }, () => errorOf(() => admit(caller)));
    for (const error of await Promise.all(flood)) expect(error.status).toBe(429);
    expect(table.calls).toEqual(['readUsage']);
  });

  test('a cached 429 ends with its minute', async () => {
    const { admit, clock } = setUp(Date.parse('2026-11-21T11:30:59.900Z'));
    const caller = callerWith({ rpm: 1 });
    await admit(caller);
    for (const _ of [1, 2]) expect((await errorOf(() => admit(caller))).status).toBe(429);
    clock.advance(100);
    await admit(caller);
  });

  test('requests of a meter that has room again cost no read', async () => {
    const { admit, environment, table, clock } = setUp();
    const caller = callerWith({ concurrency: 1 });
    const elsewhere = await environment().admit(caller, newId('req'));
    expect((await errorOf(() => admit(caller))).status).toBe(429);
    await elsewhere.refund();
    await (await admit(caller)).charge();
    table.calls.length = 0;
    clock.advance(1_000);
    await admit(caller);
    expect(table.calls).toEqual(['reserve']);
  });

  test('a read that fails costs its request a 503, and no later one', async () => {
    const { admit, table, clock } = setUp();
    const caller = callerWith({ rpm: 1 });
    await admit(caller);
    expect((await errorOf(() => admit(caller))).status).toBe(429);
    clock.advance(1_000);
    table.cut();
    expect((await errorOf(() => admit(caller))).status).toBe(503);
    table.restore();
    expect((await errorOf(() => admit(caller))).status).toBe(429);
  });

  test('a cached 402 ends when the plan is raised', async () => {
    const { admit } = setUp();
    const caller = callerWith({ rpm: 1, quota: 1 });
    await (await admit(caller)).charge();
    expect((await errorOf(() => admit(caller))).status).toBe(402);
    const raised = { ...caller, plan: { ...caller.plan, rpm: 2, quota: 2 } };
    expect((await admit(raised)).limits.quota.remaining).toBe(0);
  });
});
