import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Period } from '../../lambdas/stores/plan-store.ts';
import { callAtOnce, isReserved, type Seen } from './callers.ts';
import { type Fleet, startFleet } from './fleet.ts';

/** A border of a minute, an hour, a day, a month and a year. */
const BORDER = Date.parse('2027-01-01T00:00:00Z');

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet({ now: BORDER, skews: [-3_000, -1_000, 1_000, 3_000] });
});
afterAll(() => fleet.close());

test.each(['hour', 'day', 'month'] satisfies Period[])(
  'no minute and no %s at the end of a year admits more than its limit, and each is used up',
  async (period) => {
    const key = await fleet.createKey({ plan: { rpm: 6, quota: 5, period } });
    const calls = Array.from({ length: 8 }, () => ({ key, model: 'test/answers' }));
    const seen: Seen[] = [];
    for (let second = -5; second <= 5; second += 1) {
      fleet.setNow(BORDER + second * 1_000);
      seen.push(...(await callAtOnce(fleet.servers, calls)));
    }
    const admitted = seen.filter(({ status }) => status === 200);
    const inPeriod = new Map<string, number>();
    for (const { headers } of admitted) {
      const end = headers['x-quota-reset'] ?? '';
      inPeriod.set(end, (inPeriod.get(end) ?? 0) + 1);
    }
    expect([...inPeriod.values()]).toEqual([5, 5]);
    expect(inPeriod.has('2027-01-01T00:00:00Z')).toBe(true);
    const denied = seen.filter((one) => one.status !== 200 && !isReserved(one));
    expect(new Set(denied.map(({ status }) => status))).toEqual(new Set([402]));
  },
);
