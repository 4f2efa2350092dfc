import { isDeepStrictEqual } from 'node:util';
import type { STATE_MODES } from '../tables.ts';

export type Period = 'hour' | 'day' | 'month';

/**
 * `header`: those with an `Idempotency-Key`; `retries`: also an SDK's retry of a request without one; `off`:
 * none, and the header is rejected.
 */
export const REPLAY_MODES = ['header', 'retries', 'off'] as const;
export type ReplayMode = (typeof REPLAY_MODES)[number];

export type StateMode = (typeof STATE_MODES)[number];
/** What happens to a request whose history ends in a loop: `warn` when absent. */
export const LOOP_MODES = ['off', 'warn', 'stop'] as const;
export type LoopMode = (typeof LOOP_MODES)[number];

/** Of requests that wait for a provider's capacity; `interactive` when absent. */
export const PRIORITIES = ['interactive', 'batch'] as const;
/** A share of at most a thousandth: more would leave a tenant of weight 1 nothing. */
export const MAX_PLAN_WEIGHT = 1_000;
/** Of a stream; a whole response waits 10 s at most. */
export const MAX_WAIT_MS = 60_000;

/** Limits of a key. Every request counts as one unit, regardless of its size. */
export type Plan = {
  id: string;
  /** Generation requests per UTC minute. */
  rpm: number;
  /** Generation requests per period. */
  quota: number;
  period: Period;
  /** Generation requests of a key in flight at once; unlimited when absent. */
  concurrency?: number;
  /** Catalog ids the plan may use; all when absent. */
  models?: string[];
  /** Which requests are run once; `header` when absent. */
  replay?: ReplayMode;
  /** Which responses are stored; as the stage has it when absent. */
  state?: StateMode;
  /** Words that the labels of a target must have, one of each; any target when absent. */
  require?: { region?: string[]; retention?: string[] };
  loops?: LoopMode;
  /** How long a request waits for a place in the capacity that a target declares; it does not when absent. */
  max_wait_ms?: number;
  priority?: (typeof PRIORITIES)[number];
  /** Its projects' share of such a capacity, in proportion to others'; 1 when absent. */
  weight?: number;
};

/** A plan that a later version wrote: its keys are denied with 503. */
export type UnreadablePlan = { id: string; unreadable: true };

/** Whether two plans of one id have the same limits and models. */
export const isSamePlan = (one: Plan, other: Plan): boolean => isDeepStrictEqual(one, other);

export type PlanChanged =
  | { outcome: 'changed'; before: Plan; plan: Plan }
  | { outcome: 'missing' }
  /** Another write came between; nothing was written. */
  | { outcome: 'conflict' };

/** Implemented by `createDynamoPlanStore` (stores/dynamo/plan-store.ts). @throws StoreUnavailable */
export type PlanStore = {
  /** @throws UnreadableItem */
  findPlan(id: string): Promise<Plan | undefined>;
  /** False, with nothing written, if the id is taken. */
  createPlan(plan: Plan): Promise<boolean>;
  /** Writes what `change` returns for the stored plan, unless another write comes between. @throws UnreadableItem */
  changePlan(id: string, change: (stored: Plan) => Plan): Promise<PlanChanged>;
  /** Creates or replaces. Counters belong to the meter, so a change neither resets nor overdraws them. */
  putPlan(plan: Plan): Promise<void>;
  /** Notes that a key gets the plan; false if the plan does not exist. */
  assignPlan(id: string, now: number): Promise<boolean>;
  /** Deletes a plan that no key got since `unassignedSince` (ms). */
  deletePlan(id: string, unassignedSince: number): Promise<'deleted' | 'missing' | 'assigned'>;
  /** Every plan, by a table scan: for operators only. */
  listPlans(): Promise<(Plan | UnreadablePlan)[]>;
};
