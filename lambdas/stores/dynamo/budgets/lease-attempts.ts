import { createLruCache } from '../../../support/lru-cache.ts';
import type { BudgetRefusal, Lease } from '../../budget-store.ts';
import type { LeasedUnit, Reservation, ReserveResult } from '../../meter-store.ts';
import { type Place, placeKey } from '../meter-shards.ts';
import type { Item, WriteResult } from '../table.ts';
import { isLacking, type LeaseParts, type Leases } from './leases.ts';
import { createTurns } from './turns.ts';

/** What one item decides about a reservation; if it is not final, the reservation is tried again, or elsewhere. */
export type AttemptOutcome =
  | ReserveResult['outcome']
  /** The meter was sharded, or has begun another epoch. */
  | 'other-epoch'
  /** As many requests are in flight as one item holds. */
  | 'full'
  /** A budget is used up. */
  | 'no-budget'
  /** The item that was read does not explain the denial any more. */
  | 'changed';

export type Tried = {
  item: Item | undefined;
  result: Omit<WriteResult, 'item'>;
  outcome: AttemptOutcome;
  refusal?: BudgetRefusal | undefined;
};

/** What came of a reservation in one item. */
export type Attempt = {
  item: Item | undefined;
  outcome: AttemptOutcome;
  budgets: Pick<ReserveResult, 'refusal' | 'budgets'> | undefined;
  /** A copy of the write may be applied later, so a tombstone is in its place. */
  isTombstoned: boolean;
};

type LeasedReservation = LeasedUnit & Reservation;

/** Attempts of a lease while other requests take the room that was made for it. */
const MAX_TRIES = 16;
const MAX_ITEMS = 1_000;

/** Whether a reservation was denied because the item has too little room for its lease. */
const lacksRoom = ({ outcome, item }: Tried, lease: Lease, grants?: LeaseParts['grants']) =>
  (outcome === 'changed' || outcome === 'no-budget') && isLacking(item, lease, grants);

/** Tries reservations that lease dollars, until the budgets have granted the item what it lacks, or one of them does not. */
export const createLeaseAttempts = ({
  leases,
  look,
  trySend,
}: {
  leases: Leases;
  /** What the item explains of a reservation that is not sent. */
  look(reservation: Reservation, place: Place): Promise<Tried>;
  /** One write. */
  trySend(reservation: Reservation, place: Place, more?: LeaseParts): Promise<Tried>;
}) => {
  const inTurn = createTurns();
  /** Items that had too little room for the last request: it costs less to read them first than a write that is denied. */
  const scarce = createLruCache<true>(MAX_ITEMS);

  /** Where there seems to be room, one write. */
  const tryFirst = async (unit: LeasedReservation, place: Place, key: string): Promise<Tried> => {
    const { lease, isRepeat, now } = unit;
    const refreshing = leases.refresh(lease, now);
    if (scarce.get(key) && !isRepeat) {
      const seen = await look(unit, place);
      if (lacksRoom(seen, lease)) return seen;
    }
    const [tried] = await Promise.all([trySend(unit, place), refreshing]);
    return tried;
  };

  const seekRoom = async (
    unit: LeasedReservation,
    place: Place,
    first: { tried: Tried; key: string; hasWaited: boolean },
  ): Promise<Tried> => {
    const { lease, now } = unit;
    const { key } = first;
    let tried = first.hasWaited ? await look(unit, place) : first.tried;
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const { item } = tried;
      const found = isLacking(item, lease)
        ? await leases.makeRoom(lease, { key, item }, { needed: lease.nanos, now })
        : undefined;
      if (found && 'refusal' in found) return { ...tried, refusal: found.refusal };
      tried = await trySend(unit, place, found);
      if (!lacksRoom(tried, lease, found?.grants)) return tried;
    }
    return tried;
  };

  return async (unit: LeasedReservation, place: Place): Promise<Tried> => {
    const { lease } = unit;
    const key = placeKey(unit, place);
    let tried = await tryFirst(unit, place, key);
    if (lacksRoom(tried, lease)) {
      scarce.set(key, true);
      const first = tried;
      const found = await inTurn(lease, { key, needed: lease.nanos }, (hasWaited) =>
        seekRoom(unit, place, { tried: first, key, hasWaited }),
      );
      tried = { ...first, ...found };
    } else scarce.delete(key);
    const isAdopted = tried.outcome === 'admitted' && !tried.result.applied;
    return isAdopted
      ? { ...tried, refusal: await leases.adopt(unit, { ...tried.result, item: tried.item }) }
      : tried;
  };
};
