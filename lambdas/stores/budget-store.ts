import type { Period } from './plan-store.ts';

/** `total` never resets. */
export type BudgetPeriod = Period | 'total';

/** Of the ISO 8601 texts of an hour, a day and a month. */
const LABEL_LENGTHS: Record<Period, number> = { hour: 13, day: 10, month: 7 };

/** The label of the period that contains an instant (ms). */
export const labelAt = (period: BudgetPeriod, now: number): string =>
  period === 'total' ? period : new Date(now).toISOString().slice(0, LABEL_LENGTHS[period]);

/** In nanos. Of a budget that counts and limits nothing it is `UNLIMITED`. */
export type BudgetLimit = { max: number; period: BudgetPeriod };
export const UNLIMITED = Number.MAX_SAFE_INTEGER;

/** Whose budget it is, by the id of its counters. */
export type BudgetRef = { scope: string; id: string; period: BudgetPeriod };

/** A budget as an operator has set it. */
export type Budget = BudgetRef & {
  /** How lists show its owner. */
  name: string;
  /** Of a key, a user or a session. */
  project?: string;
  /** In nanos. */
  max: number;
  /** It counts, and limits nothing. */
  isPaused: boolean;
  setBy: string;
  /** Milliseconds since the epoch. */
  setAt: number;
  /** The same; when it began to count in such periods. */
  since?: number;
};

/** What limits the requests under a budget. */
export const limitOf = ({ isPaused, max, period }: Budget): BudgetLimit => ({
  max: isPaused ? UNLIMITED : max,
  period,
});

/** A budget that a request is under, in the period that contains the request. */
export type Hold = {
  /** Key of the budget's item: `budget/project/team-a`. */
  budget: string;
  period: BudgetPeriod;
  /** Label of the period, which the names of its counters have: `2026-11-24`. */
  label: string;
};

/**
 * Dollars that a request in flight may cost, in nanos. They are taken from every budget that it is under when it is admitted,
 * and what it did not cost is returned when it is settled.
 */
export type Lease = {
  nanos: number;
  /** What may be leased at admission: the more where budgets have plenty left. */
  range?: { least: number; ample: number };
  /** What the request has cost; known when it is settled. */
  spent: number;
  holds: readonly Hold[];
  /** Those of its user and session, which have items of their own. */
  counters?: readonly Counter[] | undefined;
  /** A change of it had no response: the store reads it before it settles the request. */
  isUncertain?: boolean;
  /** What it was before each change. A late copy of one names the value that it replaces, so that none is used again. */
  replaced?: readonly number[];
};

/** The value of a change of a lease to `to`: a nano more for each such value that it was before. */
export const leaseAfter = (lease: Pick<Lease, 'replaced'>, to: number): number =>
  lease.replaced?.includes(to) ? leaseAfter(lease, to + 1) : to;

/** The budget of a user or a session, and what a request has leased of it. */
export type Counter = {
  /** Key of its item: `budget/user/team-a/ann`. */
  budget: string;
  /** The limit of a user or session without a separate budget; undefined: it has none then. */
  fallback: BudgetLimit | undefined;
  /** As it was when something was leased, or should be. */
  hold: Hold | undefined;
  /** The mark in its item while something is leased. */
  mark: string | undefined;
  /** A write of it had no response, or a copy of it may be applied later. */
  isUncertain: boolean;
  /** Attributes of requests and periods that are over: the last write removes them. */
  past: readonly string[];
};

/** What is left of a budget, in nanos, as far as the process knows. */
export type BudgetView = { hold: Hold; max: number; left: number };

/** What a budget has paid in a period, in nanos. */
export type BudgetState = {
  /** Cost of requests that have ended, and the leases of processes that died. */
  spent: number;
  /** Leases of requests in flight. */
  leased: number;
  /** In the items of meters, for their next requests. */
  room: number;
  /** Undefined once it is deleted. */
  limit: BudgetLimit | undefined;
};

/** Why a budget does not lease what a request may cost. */
export type BudgetRefusal = {
  /**
   * `spent`: also if no request in flight costs anything; `in-flight`: their leases are in the way; `too-small`: the whole
   * budget would not do.
   */
  kind: 'spent' | 'in-flight' | 'too-small';
  hold: Hold;
  max: number;
  spent: number;
  /** What was to be leased. */
  needed: number;
};

/** For operators. Implemented by `createDynamoBudgetStore` (dynamo/budgets/budget-store.ts). @throws StoreUnavailable */
export type BudgetStore = {
  /** Creates or changes a budget, in its current period. A lowered limit holds for every request that is admitted after this. */
  setBudget(budget: Budget, hold: Hold): Promise<void>;
  /** Requests that are under it are not limited by it any more. */
  deleteBudget(scope: string, id: string): Promise<void>;
  findBudget(scope: string, id: string): Promise<Budget | undefined>;
  listBudgets(): Promise<Budget[]>;
  /** What it has paid in a period; undefined if there is no such budget. */
  readBudget(hold: Hold): Promise<BudgetState | undefined>;
};
