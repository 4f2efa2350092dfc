import {
  type LimitName,
  limitReached,
  type Reservation,
  type UsageSnapshot,
} from '../meter-store.ts';
import { StoreThrottled } from '../store-unavailable.ts';
import type { Write } from './item-write.ts';
import {
  budgetsToCopy,
  grantsFor,
  grantsForNew,
  hasJoined,
  keyEndsToCopy,
} from './meter-grants.ts';
import {
  EPOCH,
  FLOOR,
  IN_FLIGHT,
  isKeyEnded,
  itemKey,
  numberIn,
  pastCountersIn,
} from './meter-item.ts';
import {
  addShards,
  beginEpoch,
  copyBudgets,
  grant,
  joinEpoch,
  takeBack,
} from './meter-shard-writes.ts';
import {
  grantedName,
  type Layout,
  layoutIn,
  limitsText,
  readShards,
  type Sharding,
  shardsAfter,
  snapshotOf,
} from './meter-shards.ts';
import { countersOf, type PlanLimits } from './meter-writes.ts';
import type { Item, Table } from './table.ts';

/** A sharded meter as this process saw it last. */
export type Root = { item: Item; layout: Layout };

/** A shard that may admit the reservation now, or why none will. */
export type Room =
  | { root: Root; shard: number }
  | { denied: UsageSnapshot & { outcome: LimitName | 'too-late' | 'key-ended' } };

/** What a shard that did not admit a reservation contained, and how many shards there were. */
export type Refusal = { shard: number; item: Item | undefined; isFull: boolean; shards: number };

/** Lends units of a sharded meter's root to its shards (layout and rules: meter-shards.ts). */
export type Bank = {
  /** Reads the root; undefined if the meter is not sharded. */
  find(meterId: string): Promise<Root | undefined>;
  /** Reads the root, and shards the meter if it is not. */
  open(reservation: Reservation): Promise<Root>;
  /** Registers twice as many shards, unless there are more than `seen` already. */
  grow(reservation: Reservation, seen: number): Promise<Root>;
  /** Whether a reservation may use the budgets of the epoch. */
  holds(layout: Layout, reservation: Reservation): boolean;
  /** Finds room after a refusal. @throws StoreThrottled if all shards are full */
  makeRoom(reservation: Reservation, refusal: Refusal): Promise<Room>;
};

/** Names of the budgets of all epochs in a shard. */
const budgetNamesIn = (item: Item): string[] =>
  Object.keys(item).filter((name) => /^b\d+:/.test(name));

/** Grants to a shard that its counts, when it joins an epoch, allow to take back. */
const excessIn = (root: Item, shard: number, item: Item) => {
  const prefix = grantedName(shard, '');
  return Object.keys(root)
    .filter((name) => name.startsWith(prefix))
    .map((name) => {
      const counter = name.slice(prefix.length);
      const count = numberIn(item, counter);
      return { counter, count, excess: numberIn(root, name) - count };
    });
};

export const createBank = ({ table, sharding }: { table: Table; sharding: Sharding }): Bank => {
  const { marksPerItem, minShards, maxShards, limitsHoldMs } = sharding;

  const isSame = (limits: PlanLimits, other: PlanLimits) =>
    limitsText(limits) === limitsText(other);

  const holds: Bank['holds'] = ({ limits, since }, reservation) =>
    isSame(limits, reservation) || Math.abs(reservation.now - since) < limitsHoldMs;

  /** A write of the root; if another one came first, the root as that one left it. */
  const writeRoot = async ({ meterId }: Reservation, write: Write): Promise<Root> => {
    const result = await table.apply(meterId, write);
    const item = result.item ?? (await table.read(meterId)) ?? {};
    const layout = layoutIn(item);
    if (!layout) throw new Error('A root without a layout.');
    return { item, layout };
  };

  const renew = ({ now }: Reservation, layout: Layout | undefined, limits: PlanLimits) =>
    beginEpoch(layout, { limits, now, shards: layout?.shards ?? minShards });

  const find: Bank['find'] = async (meterId) => {
    const item = await table.read(meterId);
    const layout = layoutIn(item);
    return item && layout && { item, layout };
  };

  /** The root, in an epoch whose limits hold for the reservation. */
  const open: Bank['open'] = async (reservation) => {
    const root = await find(reservation.meterId);
    if (root && holds(root.layout, reservation)) return root;
    return writeRoot(reservation, renew(reservation, root?.layout, reservation));
  };

  /**
   * Moves a shard to the root's epoch and takes back what it has not used. A key that ends is written to the root
   * first, then to all registered shards; one that is registered later copies it with its first budget.
   */
  const join = async (meterId: string, { item: root, layout }: Root, shard: number) => {
    const key = itemKey(meterId, shard);
    const before = (await table.read(key)) ?? {};
    const joining = joinEpoch(layout.epoch, budgetNamesIn(before));
    const result = await table.apply(key, joining);
    const item = result.item ?? (await table.read(key)) ?? {};
    if (item[EPOCH] !== layout.epoch || hasJoined(root, shard)) return;
    const taking = takeBack(shard, layout.epoch, excessIn(root, shard, item));
    await table.apply(meterId, taking);
  };

  /** A shard that was registered with the epoch has joined it before its item exists, which its first budget creates. */
  const isOpen = ({ item: root, layout }: Root, shard: number, item: Item | undefined): boolean =>
    hasJoined(root, shard) && (item?.[EPOCH] ?? layout.epoch) === layout.epoch;

  /** Grants a shard what it lacks, and copies the grants to its budgets. */
  const lend = async (
    reservation: Reservation,
    root: Root,
    { shard, item }: Pick<Refusal, 'shard' | 'item'>,
    grants: NonNullable<ReturnType<typeof grantsFor>>,
  ): Promise<Root> => {
    const { meterId, minute, period, now } = reservation;
    const { epoch, limits } = root.layout;
    let lent = root;
    if (grants.length > 0) {
      const past = pastCountersIn(root.item, now);
      const write = grant(shard, { epoch, minute, period }, grants, past);
      const result = await table.apply(meterId, write);
      // Otherwise another process granted first: its grant is seen when the shard is tried again.
      if (!result.applied || !result.item) return root;
      lent = { ...root, item: result.item };
    }
    const budgets = budgetsToCopy(lent.item, shard, item, countersOf(reservation, limits));
    if (budgets.length > 0) {
      const ends = keyEndsToCopy(lent.item, item);
      const write = copyBudgets(epoch, budgets, ends, item?.[EPOCH] === undefined);
      await table.apply(itemKey(meterId, shard), write);
    }
    return lent;
  };

  /** Looks at all shards: one that may admit the reservation, or the limit that is reached by their sum. */
  const search = async (reservation: Reservation, root: Root, from: number): Promise<Room> => {
    const { meterId } = reservation;
    const { layout } = root;
    const counters = countersOf(reservation, layout.limits);
    const shards = await readShards(table, meterId, layout);
    const order = shards.map((_, n) => 1 + ((from + n) % layout.shards));
    const late = order.filter((shard) => !isOpen(root, shard, shards[shard - 1]));
    for (const shard of late) await join(meterId, root, shard);
    if (late.length > 0) return { root, shard: from };

    for (const shard of order) {
      const item = shards[shard - 1];
      const grants = grantsFor(root.item, shard, item, counters);
      if (!grants || numberIn(item, IN_FLIGHT) >= marksPerItem) continue;
      return { root: await lend(reservation, root, { shard, item }, grants), shard };
    }
    const snapshot = snapshotOf([root.item, ...shards], reservation);
    const outcome = limitReached(snapshot, layout.limits);
    if (outcome) return { denied: { ...snapshot, outcome } };
    const isFull = shards.every((item) => numberIn(item, IN_FLIGHT) >= marksPerItem);
    if (isFull) throw new StoreThrottled('All shards are full.', { mayBeApplied: false });
    // What is left is lent to different shards: a new epoch takes all of it back.
    const renewed = await writeRoot(reservation, renew(reservation, layout, layout.limits));
    return { root: renewed, shard: from };
  };

  const grow: Bank['grow'] = async (reservation, seen) => {
    const root = await open(reservation);
    const { shards } = root.layout;
    if (shards > seen || shards >= maxShards) return root;
    const to = Math.min(2 * shards, maxShards);
    const counters = countersOf(reservation, root.layout.limits);
    const grants = grantsForNew(root.item, shardsAfter(shards, to), counters);
    return writeRoot(reservation, addShards(root.layout, to, reservation, grants));
  };

  const makeRoom: Bank['makeRoom'] = async (reservation, refusal) => {
    const root = await open(reservation);
    const { shard, item } = refusal;
    if (isKeyEnded(root.item, reservation)) {
      return { denied: { ...snapshotOf([root.item], reservation), outcome: 'key-ended' } };
    }
    // The root grants nothing for a closed minute, however often a shard asks.
    if (numberIn(root.item, FLOOR) >= reservation.minute) {
      return { denied: { ...snapshotOf([root.item], reservation), outcome: 'too-late' } };
    }
    if (!isOpen(root, shard, item)) {
      await join(reservation.meterId, root, shard);
      return { root, shard };
    }
    if (refusal.isFull) {
      const larger = await grow(reservation, refusal.shards);
      const added = larger.layout.shards - refusal.shards;
      if (added > 0) return { root: larger, shard: shard + added };
      return search(reservation, larger, shard);
    }
    const counters = countersOf(reservation, root.layout.limits);
    const grants = grantsFor(root.item, shard, item, counters);
    if (!grants) return search(reservation, root, shard);
    return { root: await lend(reservation, root, refusal, grants), shard };
  };

  return { find, open, grow, holds, makeRoom };
};
