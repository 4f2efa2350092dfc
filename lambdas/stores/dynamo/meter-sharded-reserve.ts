import { createLruCache, type LruCache } from '../../support/memo.ts';
import type { Reservation, ReserveResult } from '../meter-store.ts';
import { type StoreThrottled, StoreUnavailable } from '../store-unavailable.ts';
import type { Attempt } from './budgets/lease-attempts.ts';
import type { Leases } from './budgets/leases.ts';
import { createBank, type Refusal, type Root } from './meter-bank.ts';
import { EPOCH, itemKey, numberIn } from './meter-item.ts';
import type { InOrder, Throttles } from './meter-ledger.ts';
import {
  budgetsIn,
  estimateCounts,
  homeShard,
  limitsText,
  type Place,
  type Sharding,
  shardsAfter,
} from './meter-shards.ts';
import type { Table } from './table.ts';

/** Attempts of one reservation while other writes change the meter between its steps; then StoreUnavailable. */
const MAX_TRIES = 64;

/** Shards whose last minute is kept; one that is forgotten costs a wait. */
const MAX_USED = 1_000;

/** Attempts in other shards, while other processes take the dollars that this one saw. */
const MAX_MOVES = 3;

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

type Parts = {
  table: Table;
  throttles: Throttles;
  sharding: Sharding;
  leases: () => Leases;
  tryIn(reservation: Reservation, place: Place): Promise<Attempt>;
  /** Sharded meters, as this process saw them last. */
  roots: LruCache<Root>;
  inOrder: InOrder;
};

/** Reserves a unit in a shard of its meter, which is sharded if it is not. */
export const createShardedReserve = (parts: Parts) => {
  const { throttles, tryIn, roots, leases, inOrder } = parts;
  const bank = createBank(parts);
  /** By shard, the last epoch and minute in which it admitted a request of this process. */
  const used = createLruCache<string>(MAX_USED);
  /** The last of the reservations of a window that make room. */
  const turns = new Map<string, Promise<Sought>>();

  const remember = ({ meterId }: Reservation, root: Root): Root => {
    roots.set(meterId, root);
    return root;
  };

  /** The shard with the most dollars for the request, as this process saw them last. */
  const roomiest = ({ meterId, lease }: Reservation, shards: number): number | undefined => {
    const keys = shardsAfter(0, shards).map((shard) => itemKey(meterId, shard));
    const key = lease && leases().roomiest(keys, lease);
    return key === undefined ? undefined : 1 + keys.indexOf(key);
  };

  /** One attempt in a shard: its result if that is final. */
  const tryOne = async (reservation: Reservation, { root, shard }: Spot) => {
    const { shards, epoch } = root.layout;
    const { outcome, item, isTombstoned, budgets } = await tryIn(reservation, { shard, epoch });
    if (isFinal(outcome)) {
      return { outcome, ...estimateCounts(item, root.item, reservation), ...budgets };
    }
    return { shard, item, shards, isFull: outcome === 'full', isTombstoned };
  };

  /** The same; where the shard lacks dollars, in those that had them when the process saw them last. */
  const tryShard = async (reservation: Reservation, spot: Spot) => {
    let result = await tryOne(reservation, spot);
    for (let moves = 0; moves < MAX_MOVES; moves += 1) {
      if (!('outcome' in result) || result.refusal?.kind !== 'in-flight') break;
      const shard = roomiest(reservation, spot.root.layout.shards);
      if (shard === undefined) break;
      result = await tryOne(reservation, { ...spot, shard });
    }
    return result;
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
    const { item, isTombstoned } = refused;
    // A shard's first units of a minute are in no other's way.
    const isNew = budgetsIn(item, numberIn(item, EPOCH), reservation).rpm < 1;
    const name = [meterId, keyId, minute, period, limitsText(reservation)].join('|');
    const last = turns.get(name);
    const take = async (): Promise<Sought> => {
      const ahead = isNew ? undefined : await last?.catch(() => undefined);
      if (ahead && !ahead.spot) return ahead;
      // Its own tombstone may be in the shard that the one ahead used; a budget of dollars may lack room there only.
      const isOwn = isTombstoned || ahead?.result.outcome === 'over-budget';
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

  /** The first request of a minute finds or makes what a shard lends in it. */
  const tryInOrder = (reservation: Reservation, spot: Spot): Promise<ReserveResult> => {
    const { meterId, minute, lease } = reservation;
    const { root, shard } = spot;
    const key = itemKey(meterId, shard);
    const name = [key, root.layout.epoch, minute].join('|');
    const go = async () => {
      const result = await tryShard(reservation, spot);
      if (!('outcome' in result)) return seekInTurn(reservation, result);
      used.set(key, name);
      return result;
    };
    const isNew = used.get(key) !== name || (lease && leases().isScarce(key) === undefined);
    return isNew ? inOrder.run(name, go) : go();
  };

  /** The root as this process knows it if the reservation may use its budgets, else as it is made for that. */
  const rootFor = (reservation: Reservation): Promise<Root> => {
    const { meterId } = reservation;
    const find = async (): Promise<Root> => {
      const root = roots.get(meterId);
      if (throttles.areMany(meterId)) {
        const spread = await bank.grow(reservation, root?.layout.shards ?? 0);
        throttles.forget(meterId);
        return remember(reservation, spread);
      }
      if (root && bank.holds(root.layout, reservation)) return root;
      return remember(reservation, await bank.open(reservation));
    };
    const isKnown = roots.get(meterId) && !throttles.areMany(meterId);
    return isKnown ? find() : inOrder.run(meterId, find);
  };

  /** By a hash; if that shard has few dollars, the one that has the most, as moving them costs more writes. */
  const homeOf = (reservation: Reservation, shards: number): number => {
    const { requestId, meterId, lease } = reservation;
    const home = homeShard(requestId, shards);
    if (!lease || leases().isScarce(itemKey(meterId, home)) !== true) return home;
    return roomiest(reservation, shards) ?? home;
  };

  /**
   * `shard`: where the mark of its request is. `throttled`: its item or home shard was; it is tried once in another shard, if the
   * meter has any: other processes may have added some since this one read the root, and of two shards that a hash chooses
   * one is rarely as busy as the other.
   */
  return async (
    reservation: Reservation,
    { shard, throttled }: { shard?: number; throttled?: StoreThrottled } = {},
  ): Promise<ReserveResult> => {
    const { meterId } = reservation;
    const known = throttled && (await bank.find(meterId));
    if (throttled && !known) throw throttled;
    const root = known
      ? remember(reservation, known)
      : await (shard === undefined ? rootFor(reservation) : bank.open(reservation));
    const { shards } = root.layout;
    const home = homeOf(reservation, shards);
    const first = throttled ? otherThan(home, home, shards) : (shard ?? home);
    return tryInOrder(reservation, { root, shard: first });
  };
};
