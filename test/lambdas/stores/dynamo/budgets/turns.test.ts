import { expect, test } from 'vitest';
import type { BudgetRefusal, Lease } from '../../../../../lambdas/stores/budget-store.ts';
import { createTurns } from '../../../../../lambdas/stores/dynamo/budgets/lease-attempts.ts';

const hold = { budget: 'budget/project/team', period: 'day' as const, label: '2026-11-24' };
const lease: Lease = { nanos: 10, spent: 0, holds: [hold] };
const refusal: BudgetRefusal = { kind: 'in-flight', hold, max: 100, spent: 90, needed: 10 };

/** Requests for one item, each of which ends when it is told. */
const startSeekers = () => {
  const inTurn = createTurns();
  const ends: ((found: { refusal?: BudgetRefusal }) => void)[] = [];
  const seek = () => {
    const { promise, resolve } = Promise.withResolvers<{ refusal?: BudgetRefusal }>();
    ends.push(resolve);
    return promise;
  };
  return {
    ends,
    ask: (needed: number, key = 'item') => inTurn(lease, { key, needed }, seek),
  };
};

/** 65 that wait, behind one that was refused. */
const startCrowd = async () => {
  const seekers = startSeekers();
  const first = seekers.ask(10);
  const waiting = Array.from({ length: 65 }, (_, index) => seekers.ask(10, `other-${index}`));
  await expect.poll(() => seekers.ends.length).toBe(1);
  seekers.ends[0]?.({ refusal });
  await first;
  await expect.poll(() => seekers.ends.length).toBe(2);
  const finish = async () => {
    for (let at = 1; at < 66; at += 1) {
      await expect.poll(() => seekers.ends.length).toBeGreaterThan(at);
      seekers.ends[at]?.({});
    }
    await Promise.all(waiting);
  };
  return { ...seekers, finish };
};

test('a request behind a crowd that needs as much of an item as the last refused one is refused at once', async () => {
  const { ask, ends, finish } = await startCrowd();
  await expect(ask(12)).resolves.toEqual({ refusal: { ...refusal, needed: 12 } });
  expect(ends.length).toBe(2);
  await finish();
});

test('a request behind a crowd that needs less, or another item, waits for its turn', async () => {
  const { ask, ends, finish } = await startCrowd();
  const less = ask(9);
  const other = ask(12, 'new');
  await finish();
  for (const at of [66, 67]) {
    await expect.poll(() => ends.length).toBeGreaterThan(at);
    ends[at]?.({});
  }
  await expect(Promise.all([less, other])).resolves.toEqual([{}, {}]);
});
