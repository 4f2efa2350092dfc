import type { Caller } from '../keys/authenticate.ts';
import type {
  BudgetPeriod,
  BudgetRef,
  BudgetRefusal,
  Hold,
  Lease,
} from '../stores/budget-store.ts';
import { formatInstant, secondsUntil } from '../support/clock.ts';
import { ApiError, DO_NOT_RETRY } from '../support/errors.ts';
import { dollarsOf } from '../support/public-usage.ts';
import {
  LimitReached,
  type Limits,
  limitHeaders,
  periodOf,
  RETRY_SOON,
  resetOfBudget,
} from './limits.ts';

/** What a request may cost when it is admitted, in nanos: `fixed` before its output, and each token of that. */
export type LeaseSize = { nanos: number; fixed: number; perToken: number };

/** A budget in the period that contains an instant (ms). */
export const holdAt = ({ scope, id, period }: BudgetRef, now: number): Hold => ({
  budget: `budget/${scope}/${id}`,
  period,
  label: period === 'total' ? period : periodOf(period, now).label,
});

/** The lease of a caller's request; its key has `scope/period` of each budget. */
export const leaseOf = (
  { budgets = [], meterId, projectId }: Caller,
  nanos: number,
  now: number,
): Lease => ({
  nanos,
  spent: 0,
  holds: budgets.map((text) => {
    const [scope = '', period] = text.split('/') as [string, BudgetPeriod];
    return holdAt({ scope, id: scope === 'key' ? meterId : projectId, period }, now);
  }),
});

const shown = (nanos: number): string => `$${dollarsOf(nanos).toFixed(2)}`;

/** `The budget of project 'team-a' of $25.00 a day` */
const nameOf = ({ budget, period }: Hold, max: number): string => {
  const [, scope, ...id] = budget.split('/');
  const owner = scope === 'key' ? 'this API key' : `${scope} '${id.join('/')}'`;
  return `The budget of ${owner} of ${shown(max)} ${period === 'total' ? 'in total' : `a ${period}`}`;
};

/** Only requests in flight are in the way: they return what they do not cost. */
const inFlight = (name: string) => ({
  code: 'budget_in_flight',
  text: `${name} is leased to requests in flight. Retry in a second: they return what they do not cost.`,
  headers: RETRY_SOON,
});

const exceeded = (name: string, spent: number, resets: number | undefined, now: number) => {
  const reset = resets === undefined ? 'does not reset' : `resets at ${formatInstant(resets)}`;
  const wait = resets !== undefined && { 'retry-after': String(secondsUntil(resets, now)) };
  return {
    code: 'budget_exceeded',
    text: `${name} is used up (${shown(spent)}). It ${reset}.`,
    headers: { ...wait, ...DO_NOT_RETRY },
  };
};

const tooSmall = (name: string, { max, needed }: BudgetRefusal, lease: LeaseSize | undefined) => {
  const fitting = lease ? Math.floor((max - lease.fixed) / lease.perToken) : 0;
  const advice =
    fitting > 0 ? `It has room for max_tokens of ${fitting}.` : 'Send a shorter prompt.';
  return {
    code: 'budget_too_small',
    text: `${name} is less than the ${shown(needed)} that the request may cost. ${advice}`,
    headers: DO_NOT_RETRY,
  };
};

/** 402 or 429 of a request that a budget lends nothing. */
export const budgetError = (
  refusal: BudgetRefusal,
  { limits, lease, now }: { limits: Limits; lease: LeaseSize | undefined; now: number },
): ApiError => {
  const { kind, hold, max, spent } = refusal;
  const name = nameOf(hold, max);
  const { code, text, headers } =
    kind === 'in-flight'
      ? inFlight(name)
      : kind === 'spent'
        ? exceeded(name, spent, resetOfBudget(hold, now), now)
        : tooSmall(name, refusal, lease);
  const shownLimits = {
    ...limits,
    budget: { hold, max, left: kind === 'in-flight' ? 0 : max - spent },
  };
  const error = new ApiError(
    kind === 'in-flight' ? 'rate_limit_error' : 'insufficient_quota',
    text,
    {
      code,
      details: { error_code: code },
      rule: { name: code, limit: dollarsOf(max), value: dollarsOf(refusal.needed) },
      headers: { ...limitHeaders(shownLimits, now), ...headers },
    },
  );
  return new LimitReached(error, shownLimits);
};
