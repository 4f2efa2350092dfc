import type { Reservation, ReservedUnit } from '../meter-store.ts';
import { roomName } from './budgets/items.ts';
import type { Condition, Write } from './item-write.ts';
import {
  EPOCH,
  FLOOR,
  holdName,
  holdOf,
  IN_FLIGHT,
  keyEndName,
  lastUsedName,
  minuteName,
  type PastCounters,
  periodName,
} from './meter-item.ts';
import { markName, openMarkOf, tombstoneOf } from './meter-marks.ts';
import { NEEDS } from './needs.ts';

/**
 * The conditional writes of a meter's item. Each is a no-op when repeated, because its condition names the
 * request's own mark, which the write itself changes (m: open mark, x: tombstone, r, q, n: counters):
 *
 *   time ------------------------------------------------------------------------------------->
 *   reserve                        charge                      answered: 1 unit
 *   +m +1r +1q +1n                 -m -1n
 *   reserve                        refund                      failed, at any time: 0 units
 *   +m +1r +1q +1n                 -m -1n -1q
 *   reserve                        withdraw                    decided again with other limits: 0 units, 0 requests
 *   +m +1r +1q +1n                 -m -1n -1q -1r
 *   reserve (no response) …        charge or refund            a late copy of the reserve meets x: no-op
 *   ?                              m -> x -1n, or +x
 *   reserve   †                    reap, 17 min later          process died before it settled: 0 units
 *   +m +1r +1q +1n                 -m -1n -1q, floor
 *
 * If the reserve of a request was sent twice, a tombstone replaces its mark. What removes tombstones, marks of
 * dead processes and counters of past minutes raises the floor to their minute, and a reserve at or below the
 * floor fails: no copy of any write ever meets an item that has forgotten its request. An item with an epoch is the root of
 * a sharded meter, which admits no requests (meter-shards.ts); one with `needs` has that layout or one of a later version.
 *
 * Several requests of one key, minute and period may be one write, which changes all of them or none. A late copy of it
 * meets the mark or the tombstone of at least one.
 */
export type SettleAs = 'charge' | 'refund' | 'withdraw';

export type PlanLimits = Pick<Reservation, 'rpm' | 'quota' | 'concurrency'>;

/** A plan without a limit of requests in flight. */
const UNLIMITED = 1_000_000_000;

/** A counter of the root or a shard, and the limit of the meter. */
export type Counter = { name: string; limit: number };

/** The counters that one request adds to. */
export const countersOf = (
  { minute, period }: Pick<Reservation, 'minute' | 'period'>,
  { rpm, quota, concurrency = UNLIMITED }: PlanLimits,
): Counter[] => [
  { name: periodName(period), limit: quota },
  { name: minuteName(minute), limit: rpm },
  { name: IN_FLIGHT, limit: concurrency },
];

/**
 * The counts up to which an item admits so many requests. A limit of 0 is decided before: an absent count would be below it.
 */
export const belowLimits = (counters: Counter[], requests: number): Condition[] =>
  counters.map(({ name, limit }) => [name, '< or absent', limit - requests + 1]);

/** The marks and counts of all requests, under the bounds of the first. */
export const reserve = (
  first: Reservation,
  { reservations = [first], epoch, bounds }: ReserveIn,
): Write => {
  const { keyId, minute, period } = first;
  const marks = reservations.map(({ requestId }) => markName(requestId));
  // A dictionary: V8 would make a shape for the names of each request's marks.
  const set: Record<string, unknown> = Object.create(null);
  for (const mark of marks) set[mark] = openMarkOf(first);
  set[lastUsedName(keyId)] = Math.max(...reservations.map(({ now }) => now));
  set[holdName(period)] = holdOf(period);
  return {
    set,
    add: {
      [minuteName(minute)]: marks.length,
      [periodName(period)]: marks.length,
      [IN_FLIGHT]: marks.length,
    },
    conditions: [
      ...marks.map((mark): Condition => [mark, 'is absent']),
      [FLOOR, '< or absent', minute],
      [keyEndName(keyId), '> or absent', first.now],
      ...bounds,
      ...inEpoch(epoch),
    ],
  };
};

type ReserveIn = { reservations?: Reservation[]; epoch: number | undefined; bounds: Condition[] };

/** In an epoch of a sharded meter, or in an item without one. */
export const inEpoch = (epoch: number | undefined): Condition[] =>
  epoch === undefined
    ? [
        [EPOCH, 'is absent'],
        [NEEDS, 'is absent'],
      ]
    : [[EPOCH, '=', epoch]];

/** What a settlement takes from the counters that the reserve has added to. */
const takenBack = (as: SettleAs, { minute, period }: ReservedUnit, count: number) => ({
  [IN_FLIGHT]: -count,
  ...(as !== 'charge' && { [periodName(period)]: -count }),
  ...(as === 'withdraw' && { [minuteName(minute)]: -count }),
});

/** What is left of a lease goes back to its rooms. */
const returned = ({ lease }: ReservedUnit): Record<string, number> =>
  Object.fromEntries(lease?.holds.map((hold) => [roomName(hold), lease.nanos - lease.spent]) ?? []);

/**
 * Settles units of which no copy can be in flight. `past`: counters of past windows, which it removes, unless another write
 * raised the floor.
 */
export const settle = (
  first: ReservedUnit,
  as: SettleAs,
  { units = [first], past }: { units?: ReservedUnit[]; past?: PastCounters | undefined } = {},
): Write => {
  const marks = units.map(({ requestId }) => markName(requestId));
  return {
    ...(past && { set: { [FLOOR]: past.floor } }),
    remove: [...marks, ...(past?.names ?? [])],
    add: { ...takenBack(as, first, units.length), ...returned(first) },
    conditions: [
      ...units.map((unit): Condition => [markName(unit.requestId), '=', openMarkOf(unit)]),
      ...(past ? [mayRaiseFloor(past.floor)] : []),
    ],
    returns: 'NONE',
  };
};

export const mayRaiseFloor = (floor: number): Condition => [FLOOR, '<= or absent', floor];

/**
 * Settles a request whose reserve may have been sent more than once. A copy that may still be applied keeps its place in the
 * minute, as it does where a reserve fails.
 */
export const settleRepeated = (unit: ReservedUnit, as: 'charge' | 'refund'): Write => ({
  ...settle(unit, as),
  set: { [markName(unit.requestId)]: tombstoneOf(unit) },
  remove: [],
});

/** Tombstones a request that is not reserved, so that a late reserve fails. */
export const tombstone = (unit: ReservedUnit): Write => ({
  set: { [markName(unit.requestId)]: tombstoneOf(unit) },
  conditions: [[markName(unit.requestId), 'is absent']],
});
