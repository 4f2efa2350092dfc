import {
  limitReached,
  type MeterStore,
  type Reservation,
  type ReserveResult,
} from '../meter-store.ts';
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
  /** A copy of the write may be applied later, so a tombstone is in its place. */
  isTombstoned: boolean;
};

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
};

export const createTry = (parts: AttemptParts) => {
  const { table, ledger, throttles, refund, sharding } = parts;
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

  /** Tries a reservation in one item. */
  return async (reservation: Reservation, place: Place): Promise<Attempt> => {
    const { requestId } = reservation;
    const key = placeKey(reservation, place);
    const counted = () => throttles.count(reservation, () => send(reservation, place));
    const result = await ledger.reserve(requestId, key, counted);
    const left = result.item ?? (await table.read(key));
    const { others } = result;
    const item = left && others > 0 ? withoutOthers(left, reservation, others) : left;
    const outcome = result.applied ? 'admitted' : outcomeIn(item, reservation, place, marksPerItem);
    const entry = ledger.entryOf(requestId);
    let isTombstoned = false;
    if (entry && outcome === 'admitted') onAdmitted(entry, { ...result, item }, reservation);
    else if (entry?.mayBeDuplicated && outcome !== 'changed') {
      // A late copy of the denied write could still be applied once a refund makes room.
      await refund(reservation);
      isTombstoned = true;
    }
    return { item, outcome, isTombstoned };
  };
};
