import type { Caller } from '../keys/caller.ts';
import type { MeterStore } from '../stores/meter-store.ts';
import type { Clock } from '../support/clock.ts';
import { createLruCache } from '../support/lru-cache.ts';
import { freeRateExceeded } from './limit-errors.ts';
import { minuteOf, minuteResetsAt } from './window.ts';

/** Listing models and counting tokens is cheap: ten a generation, and enough for any agent's start. */
const MIN_CAP = 600;
const CALLS_PER_GENERATION = 10;
const MAX_METERS = 1_000;

/** The minute cap of calls that cost no quota. @throws ApiError 429, StoreUnavailable */
export const createFreeMeter = ({
  store,
  clock,
}: {
  store: Pick<MeterStore, 'admitFree'>;
  clock: Clock;
}) => {
  /** A full minute stays full: a flood costs one write. */
  const fullMinutes = createLruCache<number>(MAX_METERS);
  return {
    admit: async ({ meterId, plan }: Caller): Promise<void> => {
      const now = clock.now();
      const minute = minuteOf(now);
      const cap = Math.max(MIN_CAP, plan.rpm * CALLS_PER_GENERATION);
      const known = fullMinutes.get(meterId) === minute;
      if (!known && (await store.admitFree(meterId, minute, cap))) return;
      fullMinutes.set(meterId, minute);
      throw freeRateExceeded(cap, minuteResetsAt(minute), clock.now());
    },
  };
};
