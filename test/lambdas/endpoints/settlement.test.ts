import { expect, test } from 'vitest';
import { createSettlement } from '../../../lambdas/endpoints/settlement.ts';
import { createCountingClock } from '../../support/counting-clock.ts';

type Unit = Parameters<typeof createSettlement>[0];

const setUp = (overrides: Partial<Unit> = {}) => {
  const calls: string[] = [];
  const clock = createCountingClock(0);
  const unit: Unit = {
    commit: async () => void calls.push('commit'),
    refund: async () => void calls.push('refund'),
    close: async () => void calls.push('close'),
    ...overrides,
  };
  return { calls, clock, settlement: createSettlement(unit, clock) };
};

test('a unit that was committed is closed and not refunded at the end', async () => {
  const { calls, settlement } = setUp();
  await settlement.commit();
  await settlement.end();
  expect(calls).toEqual(['commit', 'close']);
});

test('a unit that was never committed is refunded at the end', async () => {
  const { calls, settlement } = setUp();
  await settlement.end();
  expect(calls).toEqual(['refund', 'close']);
});

test('a response that fails after its commit is refunded once', async () => {
  const { calls, settlement } = setUp();
  await settlement.commit();
  await settlement.fail();
  await settlement.end();
  expect(calls).toEqual(['commit', 'refund', 'close']);
});

test('a unit whose commit throws is refunded at the end', async () => {
  const { calls, settlement } = setUp({ commit: () => Promise.reject(new Error('reaped')) });
  await expect(settlement.commit()).rejects.toThrow('reaped');
  await settlement.end();
  expect(calls).toEqual(['refund', 'close']);
});

test('endSoon returns after 300 ms when the table is slow, and the close continues', async () => {
  const slow = Promise.withResolvers<void>();
  const { clock, settlement } = setUp({ close: () => slow.promise });
  await settlement.commit();
  let isDone = false;
  const ended = settlement.endSoon().then(() => {
    isDone = true;
  });
  await expect.poll(clock.waits).toEqual([300]);
  clock.advance(299);
  await Promise.resolve();
  expect(isDone).toBe(false);
  clock.advance(1);
  await ended;
  expect(clock.waits()).toEqual([]);
  slow.resolve();
});
