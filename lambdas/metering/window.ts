import type { Caller } from '../keys/caller.ts';
import type { MeterCounts, Reservation } from '../stores/meter-store.ts';
import type { Period } from '../stores/plan-store.ts';
import { minuteOf, minuteResetsAt } from '../support/time.ts';
import type { Limits } from './limit-errors.ts';

/** A UTC time window. Instants are ms since the epoch; `resetsAt` is the first one after it. */
export type Window = { label: string; startsAt: number; resetsAt: number };

/** Length of an ISO 8601 text that names the period: `2026-11-21T09`, `2026-11-21`, `2026-11`. */
const LABEL_LENGTH: Record<Period, number> = { hour: 13, day: 10, month: 7 };

/** The current window of a period. UTC has no daylight saving; `Date.UTC` normalizes an overflowing part. */
export const periodOf = (period: Period, now: number): Window => {
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
