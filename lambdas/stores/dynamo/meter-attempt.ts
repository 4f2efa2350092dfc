import type { BudgetRefusal } from '../budget-store.ts';
import {
  type LeasedUnit,
  limitReached,
  type MeterStore,
  type Reservation,
  type ReserveResult,
} from '../meter-store.ts';
import { isLacking, type LeaseParts, type Leases } from './budgets/leases.ts';
import { createReserveGroups, type Place, placeKey } from './meter-groups.ts';
import {
  countsIn,
  EPOCH,
  IN_FLIGHT,
  isFirstMark,
  numberIn,
  ownOutcomeIn,
  pastCountersIn,
  withoutOthers,
} from './meter-item.ts';
import type { LedgerEntry, Throttles, WriteLedger } from './meter-ledger.ts';
import { requireKnownLayout, type Sharding } from './meter-shards.ts';
import type { Item, Table, WriteResult } from './table.ts';

/** What one item decides about a reservation; if it is not final, the reservation is tried again, or elsewhere. */
export type Attempt = {
  item: Item | undefined;
  outcome:
    | ReserveResult['outcome']
    /** The meter was sharded, or has begun another epoch. */
    | 'other-epoch'
    /** As many requests are in flight as one item holds. */
    | 'full'
    /** A budget is used up. */
    | 'no-budget'
    /** The item that was read does not explain the denial any more. */
    | 'changed';
  budgets: Pick<ReserveResult, 'refusal' | 'budgets'> | undefined;
  /** A copy of the write may be applied later, so a tombstone is in its place. */
  isTombstoned: boolean;
};

type Tried = {
  result: WriteResult;
  outcome: Attempt['outcome'];
  refusal?: BudgetRefusal | undefined;
};

/** Attempts of a lease while other requests take the room that was made for it. */
const MAX_TRIES = 16;

/** @throws UnreadableItem if a later version has given the root another layout */
const outcomeIn = (
  item: Item | undefined,
  reservation: Reservation,
  { shard, epoch }: Place,
  marksPerItem: number,
): Attempt['outcome'] => {
  const own = ownOutcomeIn(item, reservation);
  if (own) return own;
  if (item?.[EPOCH] !== epoch) return 'other-epoch';
  if (shard === 0) requireKnownLayout(item);
  const limit = shard === 0 ? limitReached(countsIn(item, reservation), reservation) : undefined;
  if (limit) return limit;
  if (numberIn(item, IN_FLIGHT) >= marksPerItem) return 'full';
  return shard === 0 ? 'changed' : 'no-budget';
};

export type AttemptParts = {
  table: Table;
  ledger: WriteLedger;
  throttles: Throttles;
  refund: MeterStore['refund'];
  sharding: Pick<Sharding, 'marksPerItem' | 'writesInFlight'>;
  leases: Leases;
};

export const createTry = (parts: AttemptParts) => {
  const { table, ledger, throttles, refund, sharding, leases } = parts;
  const { marksPerItem } = sharding;
  const send = createReserveGroups(parts);

  /** What this process has to remember until the request is settled. */
  const onAdmitted = (
    entry: LedgerEntry,
    { item, applied }: WriteResult,
    reservation: Reservation,
  ) => {
    const { requestId, now } = reservation;
    // The mark of a write that was not applied is that of a copy.
    entry.mayBeDuplicated ||= !applied;
    entry.mayHoldUnit = true;
    if (item && isFirstMark(item, requestId)) entry.past = pastCountersIn(item, now);
  };

  /** One write, and what the item explains of its denial. */
  const trySend = async (
    reservation: Reservation,
    place: Place,
    more?: LeaseParts,
  ): Promise<Tried> => {
    const { requestId } = reservation;
    const key = placeKey(reservation, place);
    const counted = () => throttles.count(reservation, () => send(reservation, place, more));
    const result = await ledger.reserve(requestId, key, counted);
    const left = result.item ?? (await table.read(key));
    const { others } = result;
    const item = left && others > 0 ? withoutOthers(left, reservation, others) : left;
    const outcome = result.applied ? 'admitted' : outcomeIn(item, reservation, place, marksPerItem);
    return { result: { ...result, item }, outcome };
  };

  /** The same, until the budgets have granted the item what it lacks for the lease, or one of them does not. */
  const tryWithLease = async (unit: LeasedUnit & Reservation, place: Place): Promise<Tried> => {
    const key = placeKey(unit, place);
    const { lease, now } = unit;
    let [tried] = await Promise.all([trySend(unit, place), leases.refresh(lease, now)]);
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const { result, outcome } = tried;
      const { item, applied } = result;
      if (outcome === 'admitted' && !applied) {
        return { ...tried, refusal: await leases.adopt(unit, result) };
      }
      const isOpen = outcome === 'changed' || outcome === 'no-budget';
      if (!isOpen || !isLacking(item, lease, lease.nanos)) return tried;
      const found = await leases.makeRoom(lease, { key, item }, { needed: lease.nanos, now });
      if ('refusal' in found) return { ...tried, refusal: found.refusal };
      tried = await trySend(unit, place, found);
    }
    return tried;
  };

  /** Tries a reservation in one item. */
  return async (reservation: Reservation, place: Place): Promise<Attempt> => {
    const { requestId, lease } = reservation;
    const tried = lease
      ? await tryWithLease({ ...reservation, lease }, place)
      : await trySend(reservation, place);
    const { result, refusal } = tried;
    const outcome = refusal ? 'over-budget' : tried.outcome;
    const entry = ledger.entryOf(requestId);
    let isTombstoned = false;
    // The unit of an earlier process is refunded.
    if (entry && refusal && tried.outcome === 'admitted') entry.mayBeDuplicated = true;
    if (entry && outcome === 'admitted') onAdmitted(entry, result, reservation);
    else if (entry?.mayBeDuplicated && outcome !== 'changed') {
      // A late copy of the denied write could still be applied once a refund makes room.
      await refund(reservation);
      isTombstoned = true;
    }
    const budgets = lease && { refusal, budgets: leases.viewsOf(lease, result.item) };
    return { item: result.item, outcome, isTombstoned, budgets };
  };
};
