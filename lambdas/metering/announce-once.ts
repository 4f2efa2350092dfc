import type { Caller } from '../keys/authenticate.ts';
import type { ReachedThreshold, Threshold, ThresholdStore } from '../stores/threshold-store.ts';
import { type Clock, MINUTE_MS } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import { createLruCache } from '../support/lru-cache.ts';

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

/** The same of a budget of dollars. */
export type BudgetThresholdReached = Omit<
  ThresholdReached,
  'plan' | 'used' | 'quota' | 'resets_at'
> & {
  /** `project/team-a` */
  budget: string;
  /** Spent, and leased to requests in flight. */
  used_usd: number;
  max_usd: number;
  /** Absent for a budget in total. */
  resets_at?: string;
};

/** Sends an event; implemented by `createEventBus` (aws/event-bus.ts). @throws Error */
export type Announce = (event: ThresholdReached | BudgetThresholdReached) => Promise<void>;

export type AnnounceParts = { store: ThresholdStore; announce: Announce; clock: Clock; log: Log };

/** The highest first: a request that passes several reports one. */
const THRESHOLDS: readonly Threshold[] = [100, 80, 50];

const MAX_METERS = 10_000;

export const thresholdOf = (used: number, max: number): Threshold | undefined =>
  THRESHOLDS.find((percent) => used * 100 >= max * percent);

/** Announces each threshold once. Never throws. */
export const createAnnounceOnce = ({ store, announce, clock, log }: AnnounceParts) => {
  /** When to look at a threshold of a meter again; another environment may announce it meanwhile. */
  const settled = createLruCache<number>(MAX_METERS);
  const nameOf = ({ meterId, period, quota, threshold }: ReachedThreshold) =>
    `${meterId}|${period}|${quota}|${threshold}`;

  return {
    isDue: (reached: ReachedThreshold): boolean =>
      (settled.get(nameOf(reached)) ?? 0) <= clock.now(),
    notYet: (reached: ReachedThreshold) => settled.set(nameOf(reached), clock.now() + MINUTE_MS),
    announce: async (
      { keyId, projectId }: Caller,
      reached: ReachedThreshold,
      event: Parameters<Announce>[0],
    ): Promise<void> => {
      const { meterId, period, threshold } = reached;
      const ids = { keyId, projectId, meterId, period, threshold };
      const name = nameOf(reached);
      const now = clock.now();
      settled.set(name, now + MINUTE_MS);
      try {
        const claim = await store.claim(reached, now);
        if (claim === 'announced') settled.set(name, Number.POSITIVE_INFINITY);
        if (claim !== 'claimed') return;
        await announce(event);
        log.info('usage_threshold', ids);
        await store.markAnnounced(reached);
        settled.set(name, Number.POSITIVE_INFINITY);
      } catch {
        log.warn('usage_threshold_failed', ids);
      }
    },
  };
};
