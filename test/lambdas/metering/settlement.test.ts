import { expect, test } from 'vitest';
import { createSettlement } from '../../../lambdas/metering/admission.ts';
import { createCountingClock } from '../../support/counting-clock.ts';

type Unit = Parameters<typeof createSettlement>[0];

const setUp = (overrides: Partial<Unit> = {}) => {
  const calls: string[] = [];
  const clock = createCountingClock(0);
  const unit: Unit = {
    charge: async () => calls.push('charge') > 0,
    refund: async () => void calls.push('refund'),
    finished: async () => void calls.push('finished'),
    ...overrides,
  };
  return { calls, clock, settlement: createSettlement(unit, clock) };
};

test('a unit whose content was delivered is charged once, at the end', async () => {
  const { calls, settlement } = setUp();
  settlement.deliver();
  expect([calls, settlement.isFree()]).toEqual([[], false]);
  await settlement.end();
  await settlement.end();
  expect(calls).toEqual(['charge', 'finished', 'finished']);
});

test('a unit whose content was never delivered is refunded at the end', async () => {
  const { calls, settlement } = setUp();
  await settlement.end();
  expect(calls).toEqual(['refund', 'finished']);
});

test('a response that fails after its first content is refunded once and never charged', async () => {
  const { calls, settlement } = setUp();
  settlement.deliver();
  await settlement.fail();
  await settlement.fail();
  await settlement.end();
  expect(calls).toEqual(['refund', 'finished']);
  expect(settlement.isFree()).toBe(true);
});

test('endSoon returns after 1 s when the table is slow, and the charge continues', async () => {
  const slow = Promise.withResolvers<boolean>();
  const { clock, settlement } = setUp({ charge: () => slow.promise });
  settlement.deliver();
  let isDone = false;
  const ended = settlement.endSoon().then(() => {
    isDone = true;
  });
  await expect.poll(clock.waits).toEqual([1_000]);
  clock.advance(999);
  await Promise.resolve();
  expect(isDone).toBe(false);
  clock.advance(1);
  await ended;
  expect(clock.waits()).toEqual([]);
  slow.resolve(true);
});
