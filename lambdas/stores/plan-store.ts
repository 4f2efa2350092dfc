export type Period = 'hour' | 'day' | 'month';

/** Limits of a key. Every request counts as one unit, regardless of its size. */
export type Plan = {
  id: string;
  /** Generation requests per UTC minute. */
  rpm: number;
  /** Generation requests per period. */
  quota: number;
  period: Period;
  /** Catalog ids the plan may use; all when absent. */
  models?: string[];
};

/** Implemented by `createDynamoPlanStore` (stores/dynamo/plan-store.ts). @throws StoreUnavailable */
export type PlanStore = {
  findPlan(id: string): Promise<Plan | undefined>;
  /** Creates or replaces. Counters belong to the meter, so a change neither resets nor overdraws them. */
  putPlan(plan: Plan): Promise<void>;
  /** Every plan, by a table scan: for operators only. */
  listPlans(): Promise<Plan[]>;
};
