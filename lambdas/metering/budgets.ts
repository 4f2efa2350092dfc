import type { Caller } from '../keys/authenticate.ts';
import {
  type BudgetPeriod,
  type BudgetRef,
  type BudgetView,
  type Counter,
  type Hold,
  type Lease,
  labelAt,
  UNLIMITED,
} from '../stores/budget-store.ts';
import type { Who } from '../stores/record-store.ts';

/**
 * What a request may cost when it is admitted, in nanos: `fixed` before its output, and each token of that. `ample`: with the
 * output of most responses, far from the limit.
 */
export type LeaseSize = { nanos: number; ample: number; fixed: number; perToken: number };
/** For whom it is, as records have it. */
export type LeaseQuery = Pick<LeaseSize, 'nanos'> & { ample?: number; who?: Who | undefined };

/** A budget in the period that contains an instant (ms). */
export const holdAt = ({ scope, id, period }: BudgetRef, now: number): Hold => ({
  budget: `budget/${scope}/${id}`,
  period,
  label: labelAt(period, now),
});

/** The one id of a budget of the whole deployment. */
export const ORGANISATION = 'all';

/**
 * Budgets as keys have them: `scope/period`, and `user/period/max` or `session/period/max` of all users or sessions of the
 * project; a user or session may have another, or the only one: `user`.
 */
const readBudget = (text: string) => {
  const [scope = '', period, max] = text.split('/') as [string, BudgetPeriod?, string?];
  return { scope, period, max };
};

export const leaseOf = (
  { budgets = [], meterId, projectId }: Caller,
  { nanos, ample, who = {} }: LeaseQuery,
  now: number,
): Lease => {
  const ids: Record<string, string> = {
    organisation: ORGANISATION,
    project: projectId,
    key: meterId,
  };
  const holds: Hold[] = [];
  const counters: Counter[] = [];
  for (const { scope, period, max } of budgets.map(readBudget)) {
    const id = ids[scope];
    const name = scope === 'user' || scope === 'session' ? who[scope] : undefined;
    if (id !== undefined && period) holds.push(holdAt({ scope, id, period }, now));
    if (name === undefined) continue;
    const fallback = period && max !== undefined ? { period, max: Number(max) } : undefined;
    const budget = `budget/${scope}/${projectId}/${name}`;
    counters.push({
      budget,
      fallback,
      hold: undefined,
      mark: undefined,
      isUncertain: false,
      past: [],
    });
  }
  // Counters are leased while the meter is.
  if (counters.length > 0) return { nanos, spent: 0, holds, counters };
  return { nanos, spent: 0, holds, ...(ample !== undefined && { range: { least: nanos, ample } }) };
};

/** Whether a request is under one of its caller's budgets; those of users and sessions need one. */
export const isUnderBudget = (budgets: readonly string[], who: Who = {}): boolean =>
  budgets.some((text) => {
    const { scope } = readBudget(text);
    return (scope !== 'user' && scope !== 'session') || who[scope] !== undefined;
  });

/** Whether they depend on for whom a request is. */
export const isUnderWho = ({ budgets = [] }: Caller): boolean =>
  budgets.some((text) => /^(user|session)/.test(text));

/** What is left of them, the tightest first; a paused one limits nothing. */
export const limiting = (views: readonly BudgetView[]): BudgetView[] =>
  views.filter(({ max }) => max < UNLIMITED).toSorted((one, other) => one.left - other.left);
