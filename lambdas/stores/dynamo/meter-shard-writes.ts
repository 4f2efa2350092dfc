import type { Reservation } from '../meter-store.ts';
import { asSeen, type Condition, type Write } from './item-write.ts';
import type { Grant } from './meter-grants.ts';
import { EPOCH, FLOOR, holdName, holdOf, lentName, type PastCounters } from './meter-item.ts';
import {
  budgetName,
  finalName,
  grantedName,
  joinedName,
  type Layout,
  LIMITS,
  limitsText,
  ROOT_NEEDS,
  SHARDS,
  SINCE,
  shardsAfter,
} from './meter-shards.ts';
import { inEpoch, mayRaiseFloor, type PlanLimits } from './meter-writes.ts';
import { NEEDS } from './needs.ts';

/**
 * The conditional writes of a sharded meter (layout: meter-shards.ts), in the order in which they meet. An epoch and
 * a grant only grow, so that a repeated or late copy of any of them changes nothing.
 *
 *   open, or begin an epoch   root    e + 1; new shards: d = e
 *   join                      shard   e = the root's, all budgets end; its counts stand still
 *   take back                 root    d = e, g = count, a and the counter - what g was too high
 *   grant                     root    g + k, a and the counter + k, if it leaves room in the limit; the first: each g
 *   copy                      shard   b = g, ends of keys that the shard lacks
 *   reserve                   shard   as in one item, if each count < b
 */
type Window = Pick<Reservation, 'minute' | 'period'>;
type Counts = Record<string, number>;

/** New shards have nothing to take back: they join as they are registered. */
const joinNew = (epoch: number, from: number, to: number): Counts =>
  Object.fromEntries(shardsAfter(from, to).map((shard) => [joinedName(shard), epoch]));

const granting = (grants: Grant[]): Counts =>
  Object.fromEntries(
    grants.flatMap(({ shards, counter, to }) =>
      shards.map((shard) => [grantedName(shard, counter), to]),
    ),
  );

/** What is lent stays counted in the root, as the requests that 0.1.0 admits there are. */
const lending = (parts: { counter: string; amount: number }[]): Counts =>
  Object.fromEntries(
    parts.flatMap(({ counter, amount }) => [
      [lentName(counter), amount],
      [counter, amount],
    ]),
  );

const lendingAll = (grants: Grant[]): Counts =>
  lending(
    grants.map(({ counter, shards, amount }) => ({ counter, amount: amount * shards.length })),
  );

const leavingRoom = ({ counter, max }: Grant): Condition => [counter, '<= or absent', max];

/** `reserve` writes it into the root of a period that began before the meter was sharded. */
const holding = (period: string): Record<string, string> => ({
  [holdName(period)]: holdOf(period),
});

/** Begins an epoch with these limits; the first one shards the meter. */
export const beginEpoch = (
  last: Layout | undefined,
  { limits, now, shards }: { limits: PlanLimits; now: number; shards: number },
): Write => ({
  set: {
    [EPOCH]: (last?.epoch ?? 0) + 1,
    [LIMITS]: limitsText(limits),
    [SINCE]: now,
    [SHARDS]: shards,
    ...(!last && { [NEEDS]: ROOT_NEEDS, ...joinNew(1, 0, shards) }),
  },
  conditions: [...inEpoch(last?.epoch), ...(last ? [hasShards(shards)] : [])],
});

const hasShards = (shards: number): Condition => [SHARDS, '=', shards];

/** Registers further shards, with what they are granted. */
export const addShards = (
  { epoch, shards }: Layout,
  to: number,
  { minute, period }: Window,
  grants: Grant[],
): Write => ({
  set: {
    [SHARDS]: to,
    ...joinNew(epoch, shards, to),
    ...granting(grants),
    ...holding(period),
  },
  add: lendingAll(grants),
  conditions: [
    ...inEpoch(epoch),
    hasShards(shards),
    [FLOOR, '< or absent', minute],
    ...grants.map(leavingRoom),
  ],
});

/** Moves a shard to the root's epoch. From then on its counts rise by grants of that epoch only. */
export const joinEpoch = (epoch: number, budgets: string[]): Write => ({
  set: { [EPOCH]: epoch },
  remove: budgets,
  conditions: [[EPOCH, '< or absent', epoch]],
});

/** Reduces the grants of a shard that has joined to its counts. */
export const takeBack = (
  shard: number,
  epoch: number,
  excess: { counter: string; count: number; excess: number }[],
): Write => ({
  set: {
    [joinedName(shard)]: epoch,
    ...Object.fromEntries(excess.map(({ counter, count }) => [grantedName(shard, counter), count])),
  },
  add: lending(excess.map((part) => ({ counter: part.counter, amount: -part.excess }))),
  conditions: [...inEpoch(epoch), [joinedName(shard), '< or absent', epoch]],
});

/** Grants what a shard lacks for one more request of the minute, and removes what past minutes left. */
export const grant = (
  shard: number,
  { epoch, minute, period }: { epoch: number } & Window,
  grants: Grant[],
  past: PastCounters | undefined,
): Write => {
  const isUnchanged = ({ counter, from }: Grant): Condition =>
    asSeen(grantedName(shard, counter), from);
  // Of several shards none has been granted any.
  const isFirst = grants
    .filter(({ shards }) => shards.length > 1)
    .map(({ counter }): Condition => [lentName(counter), 'is absent']);
  return {
    set: { ...granting(grants), ...holding(period), ...(past && { [FLOOR]: past.floor }) },
    remove: past?.names ?? [],
    add: lendingAll(grants),
    conditions: [
      ...inEpoch(epoch),
      [joinedName(shard), '=', epoch],
      [FLOOR, '< or absent', minute],
      ...(past ? [mayRaiseFloor(past.floor)] : []),
      ...grants.map(isUnchanged),
      ...grants.map(leavingRoom),
      ...isFirst,
    ],
  };
};

/**
 * Copies what the root granted to the shard's budgets, and the ends of keys that it lacks. A count that is absent becomes
 * 0, so that it compares.
 */
export const copyBudgets = (
  epoch: number,
  budgets: { counter: string; budget: number }[],
  keyEnds: [string, number][],
  isNew: boolean,
): Write => {
  const named = budgets.map(({ counter, budget }): [string, number] => [
    budgetName(epoch, counter),
    budget,
  ]);
  return {
    set: Object.fromEntries([...(isNew ? [[EPOCH, epoch]] : []), ...named, ...keyEnds]),
    add: Object.fromEntries(budgets.map(({ counter }) => [counter, 0])),
    conditions: [
      ...(isNew ? [[EPOCH, 'is absent'] as Condition] : inEpoch(epoch)),
      ...named.map(([name, budget]): Condition => [name, '<= or absent', budget]),
      ...keyEnds.map(([name, end]): Condition => [name, '> or absent', end]),
    ],
  };
};

/** Fixes the final count of a period before its counters are removed one item at a time. */
export const fixPeriod = (period: string, used: number): Write => ({
  set: { [finalName(period)]: used },
  conditions: [[finalName(period), 'is absent']],
});
