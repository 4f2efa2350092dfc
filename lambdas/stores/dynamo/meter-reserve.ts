import { createLruCache } from '../../support/lru-cache.ts';
import {
  limitReached,
  type MeterStore,
  type Reservation,
  type ReserveResult,
} from '../meter-store.ts';
import { StoreThrottled, StoreUnavailable } from '../store-unavailable.ts';
import { type Attempt, type AttemptParts, createTry } from './meter-attempt.ts';
import type { Bank, Refusal, Root } from './meter-bank.ts';
import { countsIn, ownOutcomeIn } from './meter-item.ts';
import { findMark, isMarkOf } from './meter-marks.ts';
import { estimateCounts, homeShard, limitsText, snapshotOf, WHOLE_METER } from './meter-shards.ts';

/** Attempts of one reservation while other writes change the meter between its steps; then StoreUnavailable. */
const MAX_TRIES = 64;
const MAX_METERS = 1_000;

/** A shard, in the epoch of a root. */
type Spot = { root: Root; shard: number };
type Refused = Refusal & { isTombstoned: boolean };
/** The spot is undefined if no shard will admit it: a limit is reached in their sum, or its minute is closed. */
type Sought = { result: ReserveResult; spot: Spot | undefined };

const isFinal = (outcome: Attempt['outcome']) =>
  outcome === 'admitted' ||
  outcome === 'key-ended' ||
  outcome === 'too-late' ||
  outcome === 'over-budget';

/** A tombstone denies the request itself, too. */
const otherThan = (tombstoned: number, next: number, shards: number): number =>
  next === tombstoned ? 1 + (next % shards) : next;

/** A limit of 0, which a condition cannot distinguish from an absent counter: no write. */
const denyByRead = async (bank: Bank, reservation: Reservation): Promise<ReserveResult> => {
  const items = await bank.readAll(reservation.meterId);
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
  ({ bank, ledger }: Pick<AttemptParts & { bank: Bank }, 'bank' | 'ledger'>) =>
  <Result extends ReserveResult | undefined>(send: (reservation: Reservation) => Promise<Result>) =>
  async (reservation: Reservation): Promise<Result | ReserveResult> => {
    if (reservation.quota < 1 || reservation.rpm < 1) return denyByRead(bank, reservation);
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
  parts: AttemptParts & { bank: Bank },
): Pick<MeterStore, 'reserve' | 'reserveUnconfirmed'> => {
  const { bank, ledger, throttles } = parts;
  const tryIn = createTry(parts);
  const noting = createNoting(parts);
  /** Sharded meters, as this process saw them last. */
  const roots = createLruCache<Root>(MAX_METERS);
  /** The last of the reservations of a window that make room. */
  const turns = new Map<string, Promise<Sought>>();

  const remember = ({ meterId }: Reservation, root: Root): Root => {
    roots.set(meterId, root);
    return root;
  };

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

  /** One attempt in a shard: its result if that is final. */
  const tryShard = async (reservation: Reservation, { root, shard }: Spot) => {
    const { shards, epoch } = root.layout;
    const { outcome, item, isTombstoned, budgets } = await tryIn(reservation, { shard, epoch });
    if (isFinal(outcome)) {
      return { outcome, ...estimateCounts(item, root.item, reservation), ...budgets };
    }
    return { shard, item, shards, isFull: outcome === 'full', isTombstoned };
  };

  /** Where to try next, or the limit that is reached. */
  const nextSpot = async (reservation: Reservation, refusal: Refused): Promise<Spot | Sought> => {
    const room = await bank.makeRoom(reservation, refusal);
    if ('denied' in room) return { result: room.denied, spot: undefined };
    const { shard, isTombstoned, shards } = refusal;
    remember(reservation, room.root);
    return isTombstoned ? { ...room, shard: otherThan(shard, room.shard, shards) } : room;
  };

  /** Makes room and tries again, until the reservation is admitted or a limit is reached. */
  const seek = async (reservation: Reservation, start: Spot | Refused): Promise<Sought> => {
    let from = start;
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const spot = 'root' in from ? from : await nextSpot(reservation, from);
      if ('result' in spot) return spot;
      const result = await tryShard(reservation, spot);
      if ('outcome' in result) return { result, spot };
      from = result;
    }
    throw new StoreUnavailable('The shards of the meter changed faster than they could be read.');
  };

  /**
   * Of concurrent reservations of a key that a process's shards refuse, one after another makes room: the next one finds what
   * is left of it, and a limit that one has reached denies those behind it.
   */
  const seekInTurn = async (reservation: Reservation, refused: Refused): Promise<ReserveResult> => {
    const { meterId, keyId, minute, period } = reservation;
    const name = [meterId, keyId, minute, period, limitsText(reservation)].join('|');
    const last = turns.get(name);
    const take = async (): Promise<Sought> => {
      const ahead = await last?.catch(() => undefined);
      if (ahead && !ahead.spot) return ahead;
      // Its own tombstone may be in the shard that the one ahead used; a budget of dollars may lack room there only.
      const isOwn = refused.isTombstoned || ahead?.result.outcome === 'over-budget';
      return seek(reservation, isOwn ? refused : (ahead?.spot ?? refused));
    };
    const turn = take();
    turns.set(name, turn);
    try {
      return (await turn).result;
    } finally {
      if (turns.get(name) === turn) turns.delete(name);
    }
  };

  const reserveInShards = async (
    reservation: Reservation,
    root: Root,
    shard = homeShard(reservation.requestId, root.layout.shards),
  ): Promise<ReserveResult> => {
    const first = await tryShard(reservation, { root, shard });
    return 'outcome' in first ? first : seekInTurn(reservation, first);
  };

  /** The root as this process knows it, if the reservation may use its budgets. */
  const knownRoot = async (reservation: Reservation): Promise<Root | undefined> => {
    const { meterId } = reservation;
    const root = roots.get(meterId);
    if (throttles.areMany(meterId)) {
      const spread = await bank.grow(reservation, root?.layout.shards ?? 0);
      throttles.forget(meterId);
      return remember(reservation, spread);
    }
    if (!root || bank.holds(root.layout, reservation)) return root;
    return remember(reservation, await bank.open(reservation));
  };

  /** A repeat is tried first where the mark of its request is. */
  const reserveAgain = async (reservation: Reservation): Promise<ReserveResult | undefined> => {
    const { meterId, requestId } = reservation;
    const items = await bank.readAll(meterId);
    // An item that was full keeps a tombstone, and the open mark is in another one.
    const open = findMark(items, requestId, (mark) => isMarkOf(mark, reservation));
    const shard = open < 0 ? findMark(items, requestId, () => true) : open;
    if (shard < 0) return undefined;
    if (shard === 0) return reserveInOne(reservation);
    return reserveInShards(reservation, await bank.open(reservation), shard);
  };

  const reserveFirst = async (reservation: Reservation): Promise<ReserveResult> => {
    const root = await knownRoot(reservation);
    if (root) return reserveInShards(reservation, root);
    const result = await reserveInOne(reservation);
    if (result) return result;
    return reserveInShards(reservation, remember(reservation, await bank.open(reservation)));
  };

  /**
   * Once in another shard, if the meter has any: other processes may have added some since this one read the root, and
   * of two shards that a hash chooses one is rarely as busy as the other.
   */
  const reserveElsewhere = async (
    reservation: Reservation,
    throttled: StoreThrottled,
  ): Promise<ReserveResult> => {
    // A write that may be applied later has to be settled where it was sent.
    if (ledger.entryOf(reservation.requestId)?.mayHoldUnit) throw throttled;
    const root = await bank.find(reservation.meterId);
    if (!root) throw throttled;
    remember(reservation, root);
    const { shards } = root.layout;
    const home = homeShard(reservation.requestId, shards);
    return reserveInShards(reservation, root, otherThan(home, home, shards));
  };

  const reserve = async (reservation: Reservation): Promise<ReserveResult> => {
    const repeated = reservation.isRepeat ? await reserveAgain(reservation) : undefined;
    if (repeated) return repeated;
    try {
      return await reserveFirst(reservation);
    } catch (error) {
      if (!(error instanceof StoreThrottled)) throw error;
      return reserveElsewhere(reservation, error);
    }
  };

  return {
    reserve: noting(reserve),
    reserveUnconfirmed: noting(async (reservation) =>
      roots.get(reservation.meterId) || throttles.areMany(reservation.meterId)
        ? undefined
        : reserveInOne(reservation),
    ),
  };
};
