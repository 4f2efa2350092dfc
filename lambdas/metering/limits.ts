import type { Caller } from '../keys/authenticate.ts';
import type { RequestLimits } from '../protocols/protocol.ts';
import type { BudgetView, Hold } from '../stores/budget-store.ts';
import type { MeterCounts, Reservation } from '../stores/meter-store.ts';
import type { Period } from '../stores/plan-store.ts';
import { StoreUnavailable } from '../stores/store-unavailable.ts';
import {
  formatInstant,
  minuteOf,
  minuteResetsAt,
  retryAfterMinute,
  secondsUntil,
} from '../support/clock.ts';
import {
  ApiError,
  apiError,
  DO_NOT_RETRY,
  quotaExhausted,
  rateLimited,
  unauthenticated,
} from '../support/errors.ts';
import { omitUndefined } from '../support/omit-undefined.ts';
import { dollarsOf } from '../support/public-usage.ts';

/** A UTC time window. Instants are ms since the epoch; `resetsAt` is the first one after it. */
export type Window = Readonly<{ label: string; startsAt: number; resetsAt: number }>;

/** Length of an ISO 8601 text that names the period: `2026-11-21T09`, `2026-11-21`, `2026-11`. */
const LABEL_LENGTH: Record<Period, number> = { hour: 13, day: 10, month: 7 };

/** UTC has no daylight saving; `Date.UTC` normalizes an overflowing part. */
const windowAt = (period: Period, now: number): Window => {
  const date = new Date(now);
  const year = date.getUTCFullYear();
  const month = date.getUTCMonth();
  const day = period === 'month' ? 1 : date.getUTCDate();
  const hour = period === 'hour' ? date.getUTCHours() : 0;
  const step = (kind: Period) => (kind === period ? 1 : 0);
  return {
    label: date.toISOString().slice(0, LABEL_LENGTH[period]),
    startsAt: Date.UTC(year, month, day, hour),
    resetsAt: Date.UTC(year, month + step('month'), day + step('day'), hour + step('hour')),
  };
};

/** The last window of each period that was asked for. */
const windows: Partial<Record<Period, Window>> = {};

/** The current window of a period. */
export const periodOf = (period: Period, now: number): Window => {
  const last = windows[period];
  if (last && now >= last.startsAt && now < last.resetsAt) return last;
  const current = windowAt(period, now);
  windows[period] = current;
  return current;
};

/** Reservation of one unit for a caller's request at `now` (ms). */
export const reservationOf = (
  { plan, meterId, keyId }: Caller,
  requestId: string,
  now: number,
) => ({
  meterId,
  requestId,
  keyId,
  minute: minuteOf(now),
  period: periodOf(plan.period, now).label,
  rpm: plan.rpm,
  quota: plan.quota,
  concurrency: plan.concurrency,
  now,
});

/** The caller's limits, given the counts of a reservation's minute and period. */
export const limitsAt = (
  { plan }: Caller,
  { minute, now }: Pick<Reservation, 'minute' | 'now'>,
  { minuteCount, periodCount }: Pick<MeterCounts, 'minuteCount' | 'periodCount'>,
): Limits => ({
  requests: {
    limit: plan.rpm,
    remaining: Math.max(0, plan.rpm - minuteCount),
    resetAt: minuteResetsAt(minute),
  },
  quota: {
    limit: plan.quota,
    remaining: Math.max(0, plan.quota - periodCount),
    resetAt: periodOf(plan.period, now).resetsAt,
  },
});

/** Limits of the minute and of the plan's period, with what remains of each. */
export type Limits = {
  requests: RequestLimits;
  quota: RequestLimits;
  /** Budgets of dollars, the one with the least left first. */
  budgets?: readonly BudgetView[] | undefined;
};

/** The instant of a budget's reset; undefined for one in total. */
export const resetOfBudget = ({ period }: Hold, now: number): number | undefined =>
  period === 'total' ? undefined : periodOf(period, now).resetsAt;

/** A header has ten thousandths of a dollar, rounded down. */
const NANOS_SHOWN = 100_000;

const budgetHeaders = ({ hold, max, left }: BudgetView, now: number): Record<string, string> => {
  const resets = resetOfBudget(hold, now);
  const remaining = Math.max(0, Math.floor(left / NANOS_SHOWN) * NANOS_SHOWN);
  return {
    'x-budget-limit': dollarsOf(max).toFixed(2),
    'x-budget-remaining': dollarsOf(remaining).toFixed(4),
    ...(resets !== undefined && { 'x-budget-reset': formatInstant(resets) }),
  };
};

/** Headers of every metered generation response, 402 and 429 included. */
export const limitHeaders = (
  { requests, quota, budgets: [budget] = [] }: Limits,
  now: number,
): Record<string, string> => ({
  'x-ratelimit-limit-requests': String(requests.limit),
  'x-ratelimit-remaining-requests': String(requests.remaining),
  'x-ratelimit-reset-requests': `${secondsUntil(requests.resetAt, now)}s`,
  'x-quota-limit': String(quota.limit),
  'x-quota-remaining': String(quota.remaining),
  'x-quota-reset': formatInstant(quota.resetAt),
  ...(budget && budgetHeaders(budget, now)),
});

/** A 402 or 429. Carries the limits, because a protocol may send them in its own headers too. */
export class LimitReached extends ApiError {
  readonly limits: Limits;

  constructor(error: ApiError, limits: Limits) {
    const { type, message, headers, code, details, rule } = error;
    super(type, message, { headers, ...omitUndefined({ code, details, rule }) });
    this.name = 'LimitReached';
    this.limits = limits;
  }
}

/** 401 of a key whose record may still be cached as active. */
export const keyRevoked = (): ApiError => unauthenticated('The API key was revoked or replaced.');

/** No `retry-after`: a plan with a limit of 0 admits no request until the operator changes it. */
const admitsNone = (limit: string): string =>
  `The plan of this API key admits no requests: ${limit}. Do not retry.`;

/** 402. SDKs never retry it, so `retry-after` may be as long as the period. */
export const quotaExceeded = (limits: Limits, period: Period, now: number): ApiError => {
  const { limit, resetAt } = limits.quota;
  const rule = { name: `requests_per_${period}`, limit };
  if (limit === 0) {
    const text = admitsNone(`its quota is 0 requests per ${period}`);
    return new LimitReached(quotaExhausted(text, limitHeaders(limits, now), rule), limits);
  }
  const error = quotaExhausted(
    `The quota of ${limit} requests per ${period} is used up. Retry after ${formatInstant(resetAt)}.`,
    { ...limitHeaders(limits, now), 'retry-after': String(secondsUntil(resetAt, now)) },
    rule,
  );
  return new LimitReached(error, limits);
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

/** 503: without the meter no request is admitted, because a limit that fails open does not limit. */
const meterUnavailable = (cause: unknown): ApiError =>
  apiError('The request could not be metered. Retry in a second.', {
    status: 503,
    headers: { 'retry-after': '1' },
    cause,
  });

/**
 * 503: the unit was settled, or its minute closed, before. A later attempt of a request whose process died needs
 * another unit then.
 */
export class UnitSettled extends ApiError {
  constructor() {
    const { type, message, status, headers } = meterUnavailable(undefined);
    super(type, message, { status, headers });
    this.name = 'UnitSettled';
  }
}

/** Maps `StoreUnavailable` to a public error. @throws ApiError 503 */
export const mapStoreErrors = async <Value>(verb: () => Promise<Value>): Promise<Value> => {
  try {
    return await verb();
  } catch (error) {
    throw error instanceof StoreUnavailable ? meterUnavailable(error) : error;
  }
};
