import type { Caller } from '../keys/authenticate.ts';
import {
  type BudgetPeriod,
  type BudgetRef,
  type BudgetRefusal,
  type BudgetView,
  type Counter,
  type Hold,
  type Lease,
  labelAt,
  UNLIMITED,
} from '../stores/budget-store.ts';
import type { Who } from '../stores/record-store.ts';
import { formatInstant, secondsUntil } from '../support/clock.ts';
import { ApiError, DO_NOT_RETRY } from '../support/errors.ts';
import { dollarsOf } from '../support/public-usage.ts';
import { LimitReached, type Limits, limitHeaders, RETRY_SOON, resetOfBudget } from './limits.ts';

/** What a request may cost when it is admitted, in nanos: `fixed` before its output, and each token of that. */
export type LeaseSize = { nanos: number; fixed: number; perToken: number };
/** For whom it is, as records have it. */
export type LeaseQuery = Pick<LeaseSize, 'nanos'> & { who?: Who | undefined };

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

/** The lease of a caller's request. */
export const leaseOf = (
  { budgets = [], meterId, projectId }: Caller,
  { nanos, who = {} }: LeaseQuery,
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
  return { nanos, spent: 0, holds, ...(counters.length > 0 && { counters }) };
};

/** Whether a request is under one of its caller's budgets; those of users and sessions need one. */
export const isUnderBudget = ({ budgets }: Caller, who: Who = {}): boolean =>
  budgets?.some((text) => {
    const { scope } = readBudget(text);
    return (scope !== 'user' && scope !== 'session') || who[scope] !== undefined;
  }) ?? false;

/** Whether they depend on for whom a request is. */
export const isUnderWho = ({ budgets = [] }: Caller): boolean =>
  budgets.some((text) => /^(user|session)/.test(text));

/** What is left of them, the tightest first; a paused one limits nothing. */
export const limiting = (views: readonly BudgetView[] | undefined): BudgetView[] | undefined =>
  views?.filter(({ max }) => max < UNLIMITED).toSorted((one, other) => one.left - other.left);

const shown = (nanos: number): string => `$${dollarsOf(nanos).toFixed(2)}`;

/** `The budget of project 'team-a' of $25.00 a day` */
const nameOf = ({ budget, period }: Hold, max: number): string => {
  const [, scope = '', first = '', ...rest] = budget.split('/');
  const owners: Record<string, string> = { key: 'this API key', organisation: 'the organisation' };
  const owner = owners[scope] ?? `${scope} '${rest.length > 0 ? rest.join('/') : first}'`;
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
    budgets: [{ hold, max, left: kind === 'in-flight' ? 0 : max - spent }],
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
