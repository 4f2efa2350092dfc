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

export type PlanStore = {
  findPlan(id: string): Promise<Plan | undefined>;
  putPlan(plan: Plan): Promise<void>;
};
