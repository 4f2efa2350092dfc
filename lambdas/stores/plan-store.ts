export type Period = 'hour' | 'day' | 'month';

/** What a key may do. Every request counts as one unit, whatever its size. */
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

/** Verbs throw `StoreUnavailable` when the store does not answer, and nothing else. */
export type PlanStore = {
  findPlan(id: string): Promise<Plan | undefined>;
  /** Creates or replaces. Counters are kept under the meter, so a change neither resets nor overdraws. */
  putPlan(plan: Plan): Promise<void>;
  /** Every plan; a scan, for operators only. */
  listPlans(): Promise<Plan[]>;
};
