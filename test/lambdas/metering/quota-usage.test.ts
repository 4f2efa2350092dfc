import { describe, expect, test } from 'vitest';
import { errorOf } from '../../support/error-of.ts';
import { callerWith, NOW, useMeterBench } from './meter-bench.ts';

const setUp = useMeterBench();

describe('usage', () => {
  test('reading usage returns what is used, reserved and remaining, and takes no unit', async () => {
    const { admit, meter } = setUp();
    const caller = callerWith({ rpm: 5, quota: 10 });
    expect(await meter.usage(caller)).toMatchObject({ lastUsedAt: undefined });
    await (await admit(caller)).charge();
    await admit(caller);
    const usage = {
      minute: { limit: 5, used: 2, remaining: 3, resetAt: Date.parse('2026-11-21T11:31:00Z') },
      period: {
        limit: 10,
        used: 1,
        reserved: 1,
        remaining: 8,
        resetAt: Date.parse('2026-12-01T00:00:00Z'),
      },
      lastUsedAt: NOW,
    };
    expect(await meter.usage(caller)).toEqual(usage);
    expect(await meter.usage(caller)).toEqual(usage);
  });

  test('reading usage refunds the unit of a process that died 17 minutes ago', async () => {
    const { admit, meter, clock } = setUp();
    const caller = callerWith({ quota: 3 });
    await admit(caller);
    clock.advance(17 * 60_000);
    expect((await meter.usage(caller)).period).toMatchObject({ used: 0, reserved: 0 });
  });

  test.each([1, 18])(
    'sending the response of a process that died %i minutes ago again charges its unit, once',
    async (minutes) => {
      const { meter, environment, clock } = setUp();
      const caller = callerWith({ quota: 3 });
      const startedAt = clock.now();
      await environment().admit(caller, 'req_killed');
      await environment().admit(caller, 'req_other');
      clock.advance(minutes * 60_000);
      const kept = { requestId: 'req_killed', startedAt };
      const reserved = 1;
      expect((await meter.usage(caller, kept)).period).toMatchObject({ used: 1, reserved });
      for (const again of [meter, environment()]) {
        expect((await again.usage(caller, kept)).period.used).toBe(1);
      }
      clock.advance(18 * 60_000);
      expect((await meter.usage(caller)).period).toMatchObject({ used: 1, reserved: 0 });
    },
  );

  test('sending a response again charges no unit that was refunded or reaped', async () => {
    const { admit, meter, clock } = setUp();
    const caller = callerWith({ quota: 3 });
    const startedAt = clock.now();
    const { unit, refund } = await admit(caller);
    await refund();
    const reaped = await admit(caller);
    clock.advance(17 * 60_000);
    await meter.usage(caller);
    for (const { requestId } of [unit, reaped.unit]) {
      const { period } = await meter.usage(caller, { requestId, startedAt });
      expect(period).toMatchObject({ used: 0, reserved: 0 });
    }
  });

  test('usage reports 0 remaining, never less, after a plan was lowered', async () => {
    const { admit, meter } = setUp();
    const caller = callerWith({ quota: 3 });
    for (const _ of [1, 2]) await (await admit(caller)).charge();
    const lowered = { ...caller, plan: { ...caller.plan, quota: 1 } };
    expect((await meter.usage(lowered)).period).toMatchObject({ used: 2, limit: 1, remaining: 0 });
  });

  test('reading usage with a revoked key gets 401', async () => {
    const { table, meter } = setUp();
    const caller = callerWith({});
    await table.store.revokeKey(caller.meterId, caller.keyId, NOW);
    expect((await errorOf(() => meter.usage(caller))).status).toBe(401);
  });
});
