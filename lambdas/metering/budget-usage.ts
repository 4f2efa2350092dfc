import type { Caller } from '../keys/authenticate.ts';
import { type BudgetStore, type Hold, UNLIMITED } from '../stores/budget-store.ts';
import { formatInstant } from '../support/clock.ts';
import { retryLater } from '../support/errors.ts';
import { dollarsOf } from '../support/public-usage.ts';
import { leaseOf } from './budgets.ts';
import { resetOfBudget } from './limits.ts';

export type ReadBudgets = Pick<BudgetStore, 'readBudget'>;

/** A key's budgets of users and sessions are those of any user and session. */
const ANY = { user: 'any', session: 'any' };

const scopeOf = (budget: string): string => budget.split('/')[1] ?? '';

const publicLimit = (max: number) =>
  max === UNLIMITED ? { paused: true } : { limit_usd: dollarsOf(max) };

const read = async (budgets: ReadBudgets, hold: Hold, now: number) => {
  const { limit, spent, leased } = (await budgets.readBudget(hold)) ?? {};
  // Deleted, or its period was changed since the key was read.
  if (limit?.period !== hold.period || spent === undefined || leased === undefined) return [];
  const { max, period } = limit;
  const resets = resetOfBudget(hold, now);
  return {
    scope: scopeOf(hold.budget),
    period,
    ...publicLimit(max),
    spent_usd: dollarsOf(spent),
    leased_usd: dollarsOf(leased),
    ...(max < UNLIMITED && { remaining_usd: dollarsOf(Math.max(0, max - spent - leased)) }),
    resets_at: resets === undefined ? null : formatInstant(resets),
  };
};

/** The budgets that a caller's requests are under; undefined if there are none. @throws ApiError 503 */
export const budgetUsage = async (budgets: ReadBudgets, caller: Caller, now: number) => {
  if (!caller.budgets) return undefined;
  const { holds, counters = [] } = leaseOf(caller, { nanos: 0, who: ANY }, now);
  try {
    const own = await Promise.all(holds.map((hold) => read(budgets, hold, now)));
    const each = counters.flatMap(({ budget, fallback }) =>
      fallback
        ? { scope: scopeOf(budget), period: fallback.period, ...publicLimit(fallback.max) }
        : [],
    );
    return [...own.flat(), ...each];
  } catch (cause) {
    throw retryLater('The budgets are unavailable.', cause);
  }
};
