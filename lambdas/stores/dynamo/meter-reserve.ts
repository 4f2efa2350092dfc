import { createLeaseAttempts } from '#late/leases';
import { createShardedReserve } from '#late/sharding';
import { atFirstCall, createLruCache } from '../../support/memo.ts';
import {
  limitReached,
  type MeterStore,
  type Reservation,
  type ReserveResult,
} from '../meter-store.ts';
import { StoreThrottled, StoreUnavailable } from '../store-unavailable.ts';
import type { Attempt, AttemptOutcome, Tried } from './budgets/lease-attempts.ts';
import type { LeaseParts, Leases } from './budgets/leases.ts';
import type { Root } from './meter-bank.ts';
import { createReserveGroups } from './meter-groups.ts';
import {
  countsIn,
  EPOCH,
  FLOOR,
  IN_FLIGHT,
  isFirstMark,
  itemKey,
  numberIn,
  ownOutcomeIn,
  pastCountersIn,
  withoutOthers,
} from './meter-item.ts';
import {
  createInOrder,
  type LedgerEntry,
  type Throttles,
  type WriteLedger,
} from './meter-ledger.ts';
import { findMark, isMarkOf } from './meter-marks.ts';
import {
  hasUnits,
  type Place,
  type ReadAll,
  requireKnownLayout,
  type Sharding,
  snapshotOf,
  WHOLE_METER,
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

type AttemptParts = {
  table: Table;
  ledger: WriteLedger;
  throttles: Throttles;
  refund: MeterStore['refund'];
  sharding: Pick<Sharding, 'marksPerItem' | 'writesInFlight'>;
  leases: () => Leases;
};

const createTry = (parts: AttemptParts) => {
  const { table, ledger, throttles, refund, sharding, leases } = parts;
  const { marksPerItem } = sharding;
  const send = createReserveGroups(parts);

  /** What this process has to remember until the request is settled. */
  const onAdmitted = (
    entry: LedgerEntry,
    { item, applied }: WriteResult,
    { requestId, now }: Reservation,
  ) => {
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
    const key = itemKey(reservation.meterId, place.shard);
    const counted = () => throttles.count(reservation, () => send(reservation, place, more));
    const result = await ledger.reserve(requestId, key, counted);
    const { others, item: left } = result;
    const item = left && others > 0 ? withoutOthers(left, reservation, others) : left;
    const outcome = result.applied ? 'admitted' : outcomeIn(item, reservation, place, marksPerItem);
    return { item, result, outcome };
  };

  const look = async (reservation: Reservation, place: Place): Promise<Tried> => {
    const item = await table.read(itemKey(reservation.meterId, place.shard));
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

/** Attempts of one reservation while other writes change the meter between its steps; then StoreUnavailable. */
const MAX_TRIES = 64;
const MAX_METERS = 1_000;

/** A limit of 0, which a condition cannot distinguish from an absent counter: no write. */
const denyByRead = async (readAll: ReadAll, reservation: Reservation): Promise<ReserveResult> => {
  const items = await readAll(reservation.meterId);
  const snapshot = snapshotOf(items, reservation);
  const own = items.map((item) => ownOutcomeIn(item, reservation));
  const outcome =
    own.find((found) => found !== undefined) ??
    limitReached(snapshot, reservation) ??
    'rate-limited';
  return { ...snapshot, outcome, hasStaleMarks: false };
};

/** Without a limit of 0 sends the reservation, and notes that there may be a unit to refund. */
const createNoting =
  ({ readAll, ledger }: Pick<AttemptParts, 'ledger'> & { readAll: ReadAll }) =>
  <Result extends ReserveResult | undefined>(send: (reservation: Reservation) => Promise<Result>) =>
  async (reservation: Reservation): Promise<Result | ReserveResult> => {
    if (reservation.quota < 1 || reservation.rpm < 1) return denyByRead(readAll, reservation);
    try {
      const result = await send(reservation);
      if (result && result.outcome !== 'admitted') ledger.end(reservation.requestId);
      return result;
    } catch (error) {
      // If it failed before its first write was sent, there is nothing to refund.
      if (!reservation.isRepeat) ledger.begin(reservation.requestId, reservation.meterId);
      throw error;
    }
  };

/**
 * Reserves a unit in one conditional write, or finds why it is denied. A meter is one item until that item is full
 * or throttled; then it is sharded.
 */
export const createReserve = (
  parts: AttemptParts & { sharding: Sharding; readAll: ReadAll },
): Pick<MeterStore, 'reserve' | 'reserveUnconfirmed'> => {
  const { readAll, ledger, throttles, leases } = parts;
  const tryIn = createTry(parts);
  const noting = createNoting(parts);
  /** Sharded meters, as this process saw them last. */
  const roots = createLruCache<Root>(MAX_METERS);
  const inOrder = createInOrder();
  const isSharded = ({ meterId }: Reservation): boolean =>
    roots.get(meterId) !== undefined || throttles.areMany(meterId) || inOrder.isAhead(meterId);

  /** Undefined: the meter is sharded, or has to be. */
  const tryWhole = async (reservation: Reservation): Promise<ReserveResult | undefined> => {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const { outcome, item, budgets } = await tryIn(reservation, WHOLE_METER);
      if (outcome === 'other-epoch' || outcome === 'full' || outcome === 'no-budget')
        return undefined;
      if (outcome === 'changed') continue;
      const floor = numberIn(item, FLOOR);
      return { outcome, floor, ...countsIn(item, reservation), ...budgets };
    }
    throw new StoreUnavailable('The meter changed faster than it could be read.');
  };

  /** The first of a crowd finds what dollars the item has. */
  const reserveInOne = (reservation: Reservation): Promise<ReserveResult | undefined> => {
    const { meterId, lease, isRepeat } = reservation;
    if (isRepeat || !lease || leases().isScarce(meterId) !== undefined)
      return tryWhole(reservation);
    return inOrder.run(`${meterId}|0`, async () =>
      isSharded(reservation) ? undefined : tryWhole(reservation),
    );
  };

  /** Once the first item is full or throttled, or another process has sharded the meter. */
  const reserveInShards = atFirstCall(() =>
    createShardedReserve({ ...parts, tryIn, roots, inOrder }),
  );

  /** A repeat is tried first where the mark of its request is; undefined if it has none. */
  const reserveAgain = async (reservation: Reservation): Promise<ReserveResult | undefined> => {
    const items = await readAll(reservation.meterId);
    const { requestId } = reservation;
    // An item that was full keeps a tombstone, and the open mark is in another one.
    const open = findMark(items, requestId, (mark) => isMarkOf(mark, reservation));
    const shard = open < 0 ? findMark(items, requestId, () => true) : open;
    if (shard < 0) return undefined;
    return shard === 0 ? reserveInOne(reservation) : reserveInShards(reservation, { shard });
  };

  const reserve = async (reservation: Reservation): Promise<ReserveResult> => {
    const repeated = reservation.isRepeat ? await reserveAgain(reservation) : undefined;
    if (repeated) return repeated;
    try {
      const result = isSharded(reservation) ? undefined : await reserveInOne(reservation);
      return result ?? (await reserveInShards(reservation));
    } catch (error) {
      // A write that may be applied later has to be settled where it was sent.
      const isSettledThere = ledger.entryOf(reservation.requestId)?.mayHoldUnit;
      if (!(error instanceof StoreThrottled) || isSettledThere) throw error;
      return reserveInShards(reservation, { throttled: error });
    }
  };

  return {
    reserve: noting(reserve),
    reserveUnconfirmed: noting(async (reservation) =>
      isSharded(reservation) ? undefined : reserveInOne(reservation),
    ),
  };
};
