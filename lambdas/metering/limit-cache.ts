import type {
  MeterStore,
  Reservation,
  ReserveResult,
  UsageSnapshot,
} from '../stores/meter-store.ts';
import { createLruCache } from '../support/lru-cache.ts';

/** A refusal is repeated without a look at the table for this long: a refund elsewhere may have made room. */
const FRESH_MS = 1_000;
const MAX_METERS = 1_000;

type Counted = Omit<UsageSnapshot, 'lastUsedAt' | 'leftovers'>;

export type LimitExceeded = {
  outcome: Exclude<ReserveResult['outcome'], 'admitted'>;
  minuteCount: number;
  periodCount: number;
};

/** One refusal, valid for exactly these limits in this minute and period. */
type Denial = { scope: string; checkedAt: number; standing: Promise<Counted> };

const scopeOf = ({ minute, period, rpm, quota }: Reservation): string =>
  [minute, period, rpm, quota].join('|');

const refusalIn = (standing: Counted, { quota, rpm }: Reservation): LimitExceeded | undefined => {
  const { minuteCount, periodCount, keyRefused } = standing;
  const as = (outcome: LimitExceeded['outcome']) => ({ outcome, minuteCount, periodCount });
  if (keyRefused) return as('key-refused');
  if (periodCount >= quota) return as('quota-exhausted');
  return minuteCount >= rpm ? as('rate-limited') : undefined;
};

export type LimitCache = {
  /** The refusal that the table would give, without a write. @throws StoreUnavailable */
  find(reservation: Reservation): Promise<LimitExceeded | undefined>;
  set(reservation: Reservation, refusal: LimitExceeded): void;
  /** A unit came back: the next refusal reads the table first. */
  invalidate(reservation: Pick<Reservation, 'meterId' | 'keyId'>): void;
};

/**
 * Remembers who is over their limits, so that a flood of refused calls costs one write a minute and one read
 * a second. A full minute stays full, but the quota may run out meanwhile (through an environment whose clock
 * is ahead, or a lowered plan), and then 402 must win: hence the read.
 */
export const createLimitCache = ({
  store,
}: {
  store: Pick<MeterStore, 'readUsage'>;
}): LimitCache => {
  const denials = createLruCache<Denial>(MAX_METERS);
  const keyOf = ({ meterId, keyId }: { meterId: string; keyId: string }) => `${meterId}|${keyId}`;

  const freshOf = (denial: Denial, reservation: Reservation): Denial => {
    if (reservation.now - denial.checkedAt < FRESH_MS) return denial;
    // Set before the answer: everyone who comes meanwhile waits for the same read.
    const renewed = {
      ...denial,
      checkedAt: reservation.now,
      standing: store.readUsage(reservation),
    };
    denials.set(keyOf(reservation), renewed);
    return renewed;
  };

  const forget = (reservation: Reservation) => denials.delete(keyOf(reservation));

  return {
    find: async (reservation) => {
      const known = denials.get(keyOf(reservation));
      if (known?.scope !== scopeOf(reservation)) return undefined;
      try {
        const standing = await freshOf(known, reservation).standing;
        const refusal = refusalIn(standing, reservation);
        if (!refusal) forget(reservation);
        return refusal;
      } catch (error) {
        forget(reservation);
        throw error;
      }
    },
    set: (reservation, { outcome, minuteCount, periodCount }) => {
      if (outcome === 'withdrawn') return;
      const keyRefused = outcome === 'key-refused';
      denials.set(keyOf(reservation), {
        scope: scopeOf(reservation),
        checkedAt: reservation.now,
        standing: Promise.resolve({ minuteCount, periodCount, keyRefused }),
      });
    },
    invalidate: (unit) => {
      const known = denials.get(keyOf(unit));
      if (known) denials.set(keyOf(unit), { ...known, checkedAt: Number.NEGATIVE_INFINITY });
    },
  };
};
