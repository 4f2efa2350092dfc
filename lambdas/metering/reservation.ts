import type { Caller } from '../keys/caller.ts';
import type { MeterCounts, Reservation } from '../stores/meter-store.ts';
import { minuteOf, minuteResetsAt } from '../support/time.ts';
import type { Limits } from './limit-headers.ts';
import { periodOf } from './window.ts';

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
