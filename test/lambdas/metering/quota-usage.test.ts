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
