/** Errors of requests that a limit or a budget denies: a late part of the bundle. */
import type { BudgetRefusal, Hold } from '../stores/budget-store.ts';
import type { Period } from '../stores/plan-store.ts';
import { formatInstant, minuteOf, minuteResetsAt, retryAfterMinute } from '../support/clock.ts';
import {
  ApiError,
  apiError,
  DO_NOT_RETRY,
  quotaExhausted,
  rateLimited,
} from '../support/errors.ts';
import { omitUndefined } from '../support/objects.ts';
import { dollarsOf } from '../support/public-usage.ts';
import type { LeaseSize } from './budgets.ts';
import {
  LimitReached,
  type Limits,
  limitHeaders,
  meterUnavailable,
  resetOfBudget,
} from './limits.ts';

/** No `retry-after`: a plan with a limit of 0 admits no request until the operator changes it. */
const admitsNone = (limit: string): string =>
  `The plan of this API key admits no requests: ${limit}. Do not retry.`;

/** 402. No `retry-after`: Codex would wait for as long, which may be a month, and show nothing. */
export const quotaExceeded = (limits: Limits, period: Period, now: number): ApiError => {
  const { limit, resetAt } = limits.quota;
  const text =
    limit === 0
      ? admitsNone(`its quota is 0 requests per ${period}`)
      : `The quota of ${limit} requests per ${period} is used up. Retry after ${formatInstant(resetAt)}.`;
  const rule = { name: `requests_per_${period}`, limit };
  return new LimitReached(quotaExhausted(text, limitHeaders(limits, now), rule), limits);
};

/** 429 of a generation. */
export const rateExceeded = (limits: Limits, now: number): ApiError => {
  const { limit, resetAt } = limits.requests;
  const rule = { name: 'requests_per_minute', limit };
  if (limit === 0) {
    const headers = { ...limitHeaders(limits, now), ...DO_NOT_RETRY };
    const text = admitsNone('its limit is 0 requests per minute');
    return new LimitReached(rateLimited(text, headers, rule), limits);
  }
  const error = rateLimited(
    `The limit of ${limit} requests per minute is reached. Back off and retry.`,
    { ...limitHeaders(limits, now), ...retryAfterMinute(resetAt, now) },
    rule,
  );
  return new LimitReached(error, limits);
};

/**
 * 503: the unit was settled, or its minute closed, before. A later attempt of a request whose process died needs
 * another unit then.
 */
export class UnitSettled extends ApiError {
  constructor() {
    const { type, message, status, headers } = meterUnavailable();
    super(type, message, { status, headers });
    this.name = 'UnitSettled';
  }
}

/** `floor` is the last closed minute: of a clock that is ahead, also this machine's before it was set back, it is to come. */
export const tooLate = (floor: number | undefined, now: number): ApiError => {
  if (floor === undefined || floor < minuteOf(now)) return new UnitSettled();
  const until = formatInstant(minuteResetsAt(floor));
  const error = apiError(
    `The request could not be metered: the router's clock is behind the one by which this key was metered before. Set it, or use another key until ${until}.`,
    { status: 503, headers: DO_NOT_RETRY },
  );
  error.name = 'ClockBehind';
  return error;
};

/** A request in flight ends within a second or a few minutes; which, only its provider knows. */
export const RETRY_SOON = {
  'retry-after': '1',
  'retry-after-ms': '1000',
  'x-should-retry': 'true',
};

/** 429, not 402: the units that are left are reserved, and a failure refunds them. */
export const quotaReserved = (limits: Limits, now: number): ApiError => {
  const { limit } = limits.quota;
  const error = rateLimited(
    `The last of ${limit} requests of the quota are in flight. Retry in a second: one that fails is refunded.`,
    { ...limitHeaders(limits, now), ...RETRY_SOON },
    { name: 'quota_in_flight', limit },
  );
  return new LimitReached(error, limits);
};

/** 429 of a plan with a limit of requests in flight. */
export const concurrencyReached = (
  concurrency: number | undefined,
  limits: Limits,
  now: number,
): ApiError => {
  const error = rateLimited(
    `The limit of ${concurrency} concurrent requests is reached. Retry when one of them has ended.`,
    { ...limitHeaders(limits, now), ...RETRY_SOON },
    { name: 'concurrency', ...omitUndefined({ limit: concurrency }) },
  );
  return new LimitReached(error, limits);
};

/** 429 of a call that costs no quota. */
export const freeRateExceeded = (cap: number, resetAt: number, now: number): ApiError =>
  rateLimited(
    `The limit of ${cap} free requests per minute is reached. Back off and retry.`,
    retryAfterMinute(resetAt, now),
    { name: 'free_requests_per_minute', limit: cap },
  );

// --- of budgets ---

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

/** As for a quota, without `retry-after`. */
const exceeded = (name: string, spent: number, resets: number | undefined) => ({
  code: 'budget_exceeded',
  text: `${name} is used up (${shown(spent)}). It ${resets === undefined ? 'does not reset' : `resets at ${formatInstant(resets)}`}.`,
  headers: DO_NOT_RETRY,
});

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
        ? exceeded(name, spent, resetOfBudget(hold, now))
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
