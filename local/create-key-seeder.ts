import type { KeyLifecycle } from '../lambdas/keys/lifecycle.ts';
import type { Plan, PlanStore } from '../lambdas/stores/plan-store.ts';

/** Roomy enough that nobody meets a limit by accident. */
const LOCAL_PLAN: Omit<Plan, 'id'> = { rpm: 600, quota: 100_000, period: 'month' };

export type KeyWishes = { plan?: Partial<Plan> };

type Parts = { lifecycle: KeyLifecycle; plans: PlanStore };

/** Makes keys of the project `local`, each on a plan of its own unless the wishes name one. */
export const createKeySeeder = ({ lifecycle, plans }: Parts) => {
  let count = 0;
  return async ({ plan = {} }: KeyWishes = {}): Promise<string> => {
    count += 1;
    const stored: Plan = { id: `local-${count}`, ...LOCAL_PLAN, ...plan };
    await plans.putPlan(stored);
    const { key } = await lifecycle.create({ projectId: 'local', planId: stored.id });
    return key;
  };
};
