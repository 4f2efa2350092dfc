import { createShardedReserve } from '#late/sharding';
import { atFirstCall } from '../../support/at-first-call.ts';
import { createLruCache } from '../../support/lru-cache.ts';
import {
  limitReached,
  type MeterStore,
  type Reservation,
  type ReserveResult,
} from '../meter-store.ts';
import { StoreThrottled, StoreUnavailable } from '../store-unavailable.ts';
import { type AttemptParts, createTry } from './meter-attempt.ts';
import type { Root } from './meter-bank.ts';
import { countsIn, ownOutcomeIn } from './meter-item.ts';
import { findMark, isMarkOf } from './meter-marks.ts';
import { type ReadAll, type Sharding, snapshotOf, WHOLE_METER } from './meter-shards.ts';

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
  const { readAll, ledger, throttles } = parts;
  const tryIn = createTry(parts);
  const noting = createNoting(parts);
  /** Sharded meters, as this process saw them last. */
  const roots = createLruCache<Root>(MAX_METERS);

  /** Undefined: the meter is sharded, or has to be. */
  const reserveInOne = async (reservation: Reservation): Promise<ReserveResult | undefined> => {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const { outcome, item, budgets } = await tryIn(reservation, WHOLE_METER);
      if (outcome === 'other-epoch' || outcome === 'full' || outcome === 'no-budget')
        return undefined;
      if (outcome === 'changed') continue;
      return { outcome, ...countsIn(item, reservation), ...budgets };
    }
    throw new StoreUnavailable('The meter changed faster than it could be read.');
  };

  /** Once the first item is full or throttled, or another process has sharded the meter. */
  const reserveInShards = atFirstCall(() => createShardedReserve({ ...parts, tryIn, roots }));

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

  const isSharded = ({ meterId }: Reservation): boolean =>
    roots.get(meterId) !== undefined || throttles.areMany(meterId);

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
