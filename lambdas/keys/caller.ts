import type { KeyLimits } from '../stores/key-store.ts';
import type { Plan } from '../stores/plan-store.ts';
import { omitUndefined } from '../support/omit-undefined.ts';

/** The holder of an authenticated key, with the key's plan lowered to the key's own limits. */
export type Caller = { keyId: string; projectId: string; meterId: string; plan: Plan };

const lower = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);

/** The plan with the lower of each limit, and the models that both the plan and the key allow. */
export const limitPlan = (plan: Plan, { rpm, quota, concurrency, models }: KeyLimits): Plan => {
  const allowed = plan.models ?? models;
  const optional = {
    concurrency: lower(plan.concurrency, concurrency),
    models: models ? allowed?.filter((id) => models.includes(id)) : plan.models,
  };
  return {
    ...plan,
    rpm: Math.min(plan.rpm, rpm ?? plan.rpm),
    quota: Math.min(plan.quota, quota ?? plan.quota),
    ...omitUndefined(optional),
  };
};
