import type { MeterStore, Reservation, ReserveResult, Standing } from '../stores/meter-store.ts';
import { createLruCache } from '../support/lru-cache.ts';

/** A refusal is repeated without a look at the table for this long: a refund elsewhere may have made room. */
const FRESH_MS = 1_000;
const MAX_METERS = 1_000;

type Counted = Omit<Standing, 'lastUsedAt' | 'leftovers'>;

export type Refusal = {
  outcome: Exclude<ReserveResult['outcome'], 'admitted'>;
  minuteCount: number;
  periodCount: number;
};

/** One refusal, valid for exactly these limits in this minute and period. */
type Denial = { scope: string; checkedAt: number; standing: Promise<Counted> };

const scopeOf = ({ minute, period, rpm, quota }: Reservation): string =>
  [minute, period, rpm, quota].join('|');

const refusalIn = (standing: Counted, { quota, rpm }: Reservation): Refusal | undefined => {
  const { minuteCount, periodCount, keyRefused } = standing;
  const as = (outcome: Refusal['outcome']) => ({ outcome, minuteCount, periodCount });
  if (keyRefused) return as('key-refused');
  if (periodCount >= quota) return as('quota-exhausted');
  return minuteCount >= rpm ? as('rate-limited') : undefined;
};

export type Denials = {
  /** The refusal that the table would give, without a write. @throws StoreUnavailable */
  find(reservation: Reservation): Promise<Refusal | undefined>;
  note(reservation: Reservation, refusal: Refusal): void;
  /** A unit came back: the next refusal reads the table first. */
  doubt(reservation: Pick<Reservation, 'meterId' | 'keyId'>): void;
};

/**
 * Remembers who is over their limits, so that a flood of refused calls costs one write a minute and one read
 * a second. A full minute stays full, but the quota may run out meanwhile (through an environment whose clock
 * is ahead, or a lowered plan), and then 402 must win: hence the read.
 */
export const createDenials = ({ store }: { store: Pick<MeterStore, 'standing'> }): Denials => {
  const denials = createLruCache<Denial>(MAX_METERS);
  const keyOf = ({ meterId, keyId }: { meterId: string; keyId: string }) => `${meterId}|${keyId}`;

  const freshOf = (denial: Denial, reservation: Reservation): Denial => {
    if (reservation.now - denial.checkedAt < FRESH_MS) return denial;
    // Set before the answer: everyone who comes meanwhile waits for the same read.
    const renewed = {
      ...denial,
      checkedAt: reservation.now,
      standing: store.standing(reservation),
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
    note: (reservation, { outcome, minuteCount, periodCount }) => {
      if (outcome === 'withdrawn') return;
      const keyRefused = outcome === 'key-refused';
      denials.set(keyOf(reservation), {
        scope: scopeOf(reservation),
        checkedAt: reservation.now,
        standing: Promise.resolve({ minuteCount, periodCount, keyRefused }),
      });
    },
    doubt: (unit) => {
      const known = denials.get(keyOf(unit));
      if (known) denials.set(keyOf(unit), { ...known, checkedAt: Number.NEGATIVE_INFINITY });
    },
  };
};
