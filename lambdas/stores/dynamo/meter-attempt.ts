import { createLeaseAttempts } from '#late/leases';
import { atFirstCall } from '../../support/at-first-call.ts';
import { limitReached, type MeterStore, type Reservation } from '../meter-store.ts';
import type { Attempt, AttemptOutcome, Tried } from './budgets/lease-attempts.ts';
import type { LeaseParts, Leases } from './budgets/leases.ts';
import { createReserveGroups } from './meter-groups.ts';
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
import {
  hasUnits,
  type Place,
  placeKey,
  requireKnownLayout,
  type Sharding,
} from './meter-shards.ts';
import type { Item, Table, WriteResult } from './table.ts';

/** @throws UnreadableItem if a later version has given the root another layout */
const outcomeIn = (
  item: Item | undefined,
  reservation: Reservation,
  { shard, epoch }: Place,
  marksPerItem: number,
): AttemptOutcome => {
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
  leases: () => Leases;
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
    return { item, result, outcome };
  };

  const look = async (reservation: Reservation, place: Place): Promise<Tried> => {
    const item = await table.read(placeKey(reservation, place));
    const denied = outcomeIn(item, reservation, place, marksPerItem);
    const isShort = place.epoch !== undefined && !hasUnits(item, place.epoch, reservation);
    const outcome = denied === 'no-budget' && !isShort ? 'changed' : denied;
    return { item, result: { applied: false, mayBeDuplicated: false }, outcome };
  };

  const tryWithLease = atFirstCall(() => createLeaseAttempts({ leases: leases(), look, trySend }));

  /** Tries a reservation in one item. */
  return async (reservation: Reservation, place: Place): Promise<Attempt> => {
    const { requestId, lease } = reservation;
    const tried = lease
      ? await tryWithLease({ ...reservation, lease }, place)
      : await trySend(reservation, place);
    const { item, result, refusal } = tried;
    const outcome = refusal ? 'over-budget' : tried.outcome;
    const entry = ledger.entryOf(requestId);
    let isTombstoned = false;
    // The unit of an earlier process is refunded.
    if (entry && refusal && tried.outcome === 'admitted') entry.mayBeDuplicated = true;
    if (entry && outcome === 'admitted') onAdmitted(entry, { ...result, item }, reservation);
    else if (entry?.mayBeDuplicated && outcome !== 'changed') {
      // A late copy of the denied write could still be applied once a refund makes room.
      await refund(reservation);
      isTombstoned = true;
    }
    const budgets = lease && { refusal, budgets: leases().viewsOf(lease, item) };
    return { item, outcome, isTombstoned, budgets };
  };
};
