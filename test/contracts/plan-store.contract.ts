import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Plan, PlanStore } from '../../lambdas/stores/plan-store.ts';

/** Contract of every plan store. */
export const planStoreContract = (
  setUp: () => Promise<{ store: PlanStore; close(): Promise<void> }>,
): void => {
  describe('a plan store', () => {
    let store: PlanStore;
    let close: () => Promise<void>;
    beforeAll(async () => {
      ({ store, close } = await setUp());
    });
    afterAll(() => close());

    const planWith = (over: Partial<Plan> = {}): Plan => ({
      id: `plan_${randomUUID()}`,
      rpm: 60,
      quota: 1_000,
      period: 'month',
      ...over,
    });

    test.each([
      {},
      { rpm: 0, quota: 0, period: 'hour' as const },
      { models: ['aurora/scribe-1', 'borealis/swift-2'] },
      { models: [] },
      { concurrency: 3 },
    ])('a stored plan is read back unchanged: %o', async (over) => {
      const plan = planWith(over);
      await store.putPlan(plan);
      expect(await store.findPlan(plan.id)).toEqual(plan);
    });

    test('an unknown id finds no plan', async () => {
      expect(await store.findPlan(randomUUID())).toBeUndefined();
    });

    test('a replaced plan keeps no list of models and no concurrency that the new one lacks', async () => {
      const { id } = planWith();
      await store.putPlan(planWith({ id, models: ['aurora/scribe-1'], concurrency: 3 }));
      const raised = planWith({ id, rpm: 120, quota: 5, period: 'day' });
      await store.putPlan(raised);
      expect(await store.findPlan(id)).toEqual(raised);
    });

    test('a plan is created once, and changed only as it was read', async () => {
      const plan = planWith({ models: ['aurora/scribe-1'] });
      expect(await store.createPlan(plan)).toBe(true);
      expect(await store.createPlan({ ...plan, rpm: 1 })).toBe(false);
      const raise = () =>
        store.changePlan(plan.id, (stored) => ({ ...stored, rpm: stored.rpm + 1 }));
      const changes = await Promise.all(Array.from({ length: 12 }, raise));
      const applied = changes.filter(({ outcome }) => outcome === 'changed').length;
      // No change is lost, whichever came between.
      expect(applied).toBeGreaterThanOrEqual(1);
      expect(await store.findPlan(plan.id)).toEqual({ ...plan, rpm: plan.rpm + applied });
      const opened = await store.changePlan(plan.id, ({ models: _, ...rest }) => rest);
      const { models: _, ...open } = { ...plan, rpm: plan.rpm + applied };
      expect(opened).toMatchObject({ outcome: 'changed', before: { id: plan.id }, plan: open });
      expect(await store.findPlan(plan.id)).toEqual(open);
      const missing = await store.changePlan(randomUUID(), (stored) => stored);
      expect(missing).toEqual({ outcome: 'missing' });
    });

    test('a list holds every plan once', async () => {
      const plans = [planWith(), planWith()];
      for (const plan of [...plans, ...plans]) await store.putPlan(plan);
      const listed = (await store.listPlans()).map(({ id }) => id);
      for (const { id } of plans) expect(listed.filter((other) => other === id)).toHaveLength(1);
    });
  });
};
