import type { Caller } from '../keys/caller.ts';
import type { MeterCounts } from '../stores/meter-store.ts';
import type { Clock } from '../support/clock.ts';
import { createLruCache } from '../support/lru-cache.ts';
import { MINUTE_MS } from '../support/time.ts';

/** What must be left of every limit, in units and as a share of it: other environments use the meter too. */
const MIN_LEFT = 20;
const MIN_SHARE_LEFT = 0.25;
const MAX_KEYS = 1_000;

export type RoomEstimate = {
  /** Call with the counts that a reservation of the caller returned. */
  saw(caller: Caller, counts: MeterCounts): void;
  /** Call when a reservation was denied or failed. */
  forget(caller: Caller): void;
  /** Whether a reservation of the caller would almost certainly be admitted. */
  hasRoom(caller: Caller): boolean;
};

const isRoomy = (limit: number, count: number): boolean =>
  limit - count >= Math.max(MIN_LEFT, MIN_SHARE_LEFT * limit);

/**
 * Remembers for a minute what this environment saw of the meters of its keys. The count of the minute is that of the
 * last look even if a new minute has begun: a key that nearly fills one minute may fill the next.
 */
export const createRoomEstimate = ({ clock }: { clock: Clock }): RoomEstimate => {
  const looks = createLruCache<{ seenAt: number; counts: MeterCounts }>(MAX_KEYS);
  return {
    saw: ({ keyId }, counts) => looks.set(keyId, { seenAt: clock.now(), counts }),
    forget: ({ keyId }) => looks.delete(keyId),
    hasRoom: ({ keyId, plan }) => {
      const look = looks.get(keyId);
      if (!look || clock.now() - look.seenAt >= MINUTE_MS) return false;
      const { minuteCount, periodCount, inFlightCount } = look.counts;
      return (
        isRoomy(plan.rpm, minuteCount) &&
        isRoomy(plan.quota, periodCount) &&
        (plan.concurrency === undefined || isRoomy(plan.concurrency, inFlightCount))
      );
    },
  };
};
