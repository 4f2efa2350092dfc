import type { Caller } from '../keys/authenticate.ts';
import type { Threshold, ThresholdStore } from '../stores/threshold-store.ts';
import type { Clock } from '../support/clock.ts';
import { formatInstant, MINUTE_MS } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import { createLruCache } from '../support/lru-cache.ts';
import type { Admission } from './admission.ts';
import type { Meter } from './meter.ts';

/** The detail of an event: a key's use of its quota reached a share of it. */
export type ThresholdReached = {
  project: string;
  key: string;
  plan: string;
  period: string;
  /** Percent of the quota. */
  threshold: Threshold;
  /** Units used or reserved. */
  used: number;
  quota: number;
  resets_at: string;
};

/** Sends an event; implemented by `createEventBus` (aws/event-bus.ts). @throws Error */
export type Announce = (event: ThresholdReached) => Promise<void>;

type Parts = { store: ThresholdStore; announce: Announce; clock: Clock; log: Log };

/** The highest first: a request that passes several reports one. */
const THRESHOLDS: readonly Threshold[] = [100, 80, 50];

const MAX_METERS = 10_000;

/** Announces the highest threshold that a charged unit has reached. Never throws. */
const createReport = ({ store, announce, clock, log }: Parts) => {
  /** When to look at a threshold of a meter again; another environment may announce it meanwhile. */
  const settled = createLruCache<number>(MAX_METERS);

  return async (caller: Caller, { unit, limits }: Admission): Promise<void> => {
    const { limit: quota, remaining, resetAt } = limits.quota;
    const used = quota - remaining;
    const threshold = THRESHOLDS.find((percent) => used * 100 >= quota * percent);
    if (threshold === undefined) return;
    const { meterId, period } = unit;
    const { keyId, projectId, plan } = caller;
    const name = `${meterId}|${period}|${quota}|${threshold}`;
    const now = clock.now();
    if ((settled.get(name) ?? 0) > now) return;
    settled.set(name, now + MINUTE_MS);
    const reached = { meterId, period, quota, threshold };
    try {
      const claim = await store.claim(reached, now);
      if (claim === 'announced') settled.set(name, Number.POSITIVE_INFINITY);
      if (claim !== 'claimed') return;
      const ids = { project: projectId, key: keyId, plan: plan.id, period };
      await announce({ ...ids, threshold, used, quota, resets_at: formatInstant(resetAt) });
      log.info('usage_threshold', { keyId, projectId, meterId, period, threshold });
      await store.markAnnounced(reached);
      settled.set(name, Number.POSITIVE_INFINITY);
    } catch {
      log.warn('usage_threshold_failed', { keyId, projectId, meterId, period, threshold });
    }
  };
};

/**
 * The meter, with events at 50, 80 and 100 % of a quota. An event is sent after the charge, like the record of the
 * request: a stream has ended by then, and a whole response waits for at most a second.
 */
export const withThresholds = (meter: Meter, parts: Parts): Meter => {
  const report = createReport(parts);
  return {
    ...meter,
    admit: async (caller, requestId, options) => {
      const admission = await meter.admit(caller, requestId, options);
      let reporting: Promise<void> | undefined;
      return {
        ...admission,
        charge: async () => {
          const isCharged = await admission.charge();
          if (isCharged) reporting = report(caller, admission);
          return isCharged;
        },
        finished: async () => {
          await reporting;
          await admission.finished();
        },
      };
    },
  };
};
