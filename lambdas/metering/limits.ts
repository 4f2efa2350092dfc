import type { Caller } from '../keys/authenticate.ts';
import type { RequestLimits } from '../protocols/protocol.ts';
import type { BudgetView, Hold } from '../stores/budget-store.ts';
import type { MeterCounts, Reservation } from '../stores/meter-store.ts';
import type { Period } from '../stores/plan-store.ts';
import { StoreUnavailable } from '../stores/store-unavailable.ts';
import { formatInstant, minuteOf, minuteResetsAt, secondsUntil } from '../support/clock.ts';
import { ApiError, retryLater, unauthenticated } from '../support/errors.ts';
import { omitUndefined } from '../support/objects.ts';
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

/** Whether a unit may have reached a threshold (thresholds.ts): the lowest is half of the quota. */
export const mayReport = ({ quota, budgets = [] }: Limits): boolean =>
  budgets.length > 0 || 2 * quota.remaining <= quota.limit;

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

/** 503: without the meter no request is admitted, because a limit that fails open does not limit. */
export const meterUnavailable = (cause?: unknown): ApiError =>
  retryLater('The request could not be metered. Retry in a second.', cause);

/** Maps `StoreUnavailable` to a public error. @throws ApiError 503 */
export const mapStoreErrors = async <Value>(verb: () => Promise<Value>): Promise<Value> => {
  try {
    return await verb();
  } catch (error) {
    throw error instanceof StoreUnavailable ? meterUnavailable(error) : error;
  }
};
