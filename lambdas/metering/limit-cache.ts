import type {
  MeterStore,
  Reservation,
  ReserveResult,
  UsageSnapshot,
} from '../stores/meter-store.ts';
import { createLruCache } from '../support/lru-cache.ts';

/** A cached limit error is repeated without a read for this long, so that a 402 takes precedence soon. */
const FRESH_MS = 1_000;
const MAX_METERS = 1_000;

type Counts = Omit<UsageSnapshot, 'lastUsedAt' | 'hasStaleMarks'>;

export type LimitExceeded = {
  outcome: Exclude<ReserveResult['outcome'], 'admitted'>;
  minuteCount: number;
  periodCount: number;
};

/** One cached limit error. `scope` is the limits, minute and period that it is valid for. */
type Entry = { scope: string; checkedAt: number; counts: Promise<Counts> };

const scopeOf = ({ minute, period, rpm, quota }: Reservation): string =>
  [minute, period, rpm, quota].join('|');

const exceededIn = (counts: Counts, { quota, rpm }: Reservation): LimitExceeded | undefined => {
  const { minuteCount, periodCount, isKeyEnded } = counts;
  const as = (outcome: LimitExceeded['outcome']) => ({ outcome, minuteCount, periodCount });
  if (isKeyEnded) return as('key-ended');
  if (periodCount >= quota) return as('quota-exhausted');
  return minuteCount >= rpm ? as('rate-limited') : undefined;
};

export type LimitCache = {
  /** The limit error that a reserve would get, found without a write. @throws StoreUnavailable */
  find(reservation: Reservation): Promise<LimitExceeded | undefined>;
  set(
    reservation: Reservation,
    exceeded: LimitExceeded & Pick<ReserveResult, 'hasUnitsInFlight'>,
  ): void;
  /** After a refund: the next `find` reads the table first. */
  invalidate(reservation: Pick<Reservation, 'meterId' | 'keyId'>): void;
};

/**
 * Caches limit errors per key, so that a flood of denied calls costs one write a minute and one read a second.
 * A full minute stays full, but the quota may run out within it (through an environment whose clock is ahead,
 * or a lowered plan), and then 402 takes precedence: hence the read.
 */
export const createLimitCache = ({
  store,
}: {
  store: Pick<MeterStore, 'readUsage'>;
}): LimitCache => {
  const entries = createLruCache<Entry>(MAX_METERS);
  const keyOf = ({ meterId, keyId }: { meterId: string; keyId: string }) => `${meterId}|${keyId}`;

  /** A full minute and an ended key stay as they are; an exhausted quota has room again after a refund. */
  const mayHaveRoom = async ({ counts }: Entry, { quota }: Reservation): Promise<boolean> => {
    const { isKeyEnded, periodCount, hasUnitsInFlight } = await counts;
    return !isKeyEnded && periodCount >= quota && hasUnitsInFlight;
  };

  const refresh = async (entry: Entry, reservation: Reservation): Promise<Entry> => {
    const isFresh = reservation.now - entry.checkedAt < FRESH_MS;
    if (isFresh && !(await mayHaveRoom(entry, reservation))) return entry;
    // Set before the read resolves: concurrent requests share it.
    const renewed = { ...entry, checkedAt: reservation.now, counts: store.readUsage(reservation) };
    entries.set(keyOf(reservation), renewed);
    return renewed;
  };

  const remove = (reservation: Reservation) => entries.delete(keyOf(reservation));

  return {
    find: async (reservation) => {
      const entry = entries.get(keyOf(reservation));
      if (entry?.scope !== scopeOf(reservation)) return undefined;
      try {
        const exceeded = exceededIn(await (await refresh(entry, reservation)).counts, reservation);
        if (!exceeded) remove(reservation);
        return exceeded;
      } catch (error) {
        remove(reservation);
        throw error;
      }
    },
    set: (reservation, { outcome, minuteCount, periodCount, hasUnitsInFlight }) => {
      if (outcome === 'refunded') return;
      const isKeyEnded = outcome === 'key-ended';
      entries.set(keyOf(reservation), {
        scope: scopeOf(reservation),
        checkedAt: reservation.now,
        counts: Promise.resolve({ minuteCount, periodCount, isKeyEnded, hasUnitsInFlight }),
      });
    },
    invalidate: (unit) => {
      const entry = entries.get(keyOf(unit));
      if (entry) entries.set(keyOf(unit), { ...entry, checkedAt: Number.NEGATIVE_INFINITY });
    },
  };
};
