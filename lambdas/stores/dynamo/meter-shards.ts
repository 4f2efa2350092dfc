import type { EndedPeriod, MeterCounts, Reservation, UsageSnapshot } from '../meter-store.ts';
import { UnreadableItem } from '../store-unavailable.ts';
import type { Condition } from './item-write.ts';
import {
  countsIn,
  EPOCH,
  holdName,
  IN_FLIGHT,
  isKeyEnded,
  itemKey,
  lastUsedName,
  lentName,
  minuteName,
  numberIn,
  ownCount,
  periodName,
} from './meter-item.ts';
import { countersOf, type PlanLimits } from './meter-writes.ts';
import { isUnderstood } from './needs.ts';
import type { Item, Table } from './table.ts';

/**
 * Layout of a sharded meter. One item holds the marks of 60 requests within the KB of one write unit, and DynamoDB
 * limits its writes a second. A meter that outgrows it gets further items, its shards, which admit requests by the
 * rules of meter-item.ts; the first item, its root, admits none any more and lends them units:
 *
 *   root `<meter>`                                  shard `<meter>/<n>`, n = 1, 2, …
 *     e              epoch                            e                      epoch
 *     p, t           its limits and start (ms)        b<epoch>:<counter>     budget: what the counter may reach
 *     s              number of shards                 counters, marks, key ends, floor: meter-item.ts
 *     d<n>           epoch that shard n has joined
 *     g<n>:<counter> granted to shard n
 *     a<counter>     granted to all shards
 *     <counter>      a<counter> and what it admitted itself
 *     needs          [shards]
 *     z<period>      final count of a period that is being forgotten
 *
 * `<counter>` is `r<minute>`, `q<period>` or `n`. Of each counter
 *
 *   count of a shard <= its budget <= g,   a = sum of g,   counter of the root <= limit at each grant,
 *
 * so that the sum of the counts never exceeds the limit. Version 0.1.0 admits requests in the root while its counters are
 * below the limits, so what is lent is part of them: it denies some too early, and none too late. Grants shrink with what is left, down to one unit, and any
 * process may use any shard's budget: a request is denied only if the sum of the counts has reached a limit. A new
 * epoch begins when the limits change, or when what is left lies in budgets of different shards: it ends all
 * budgets, and each shard joins it with g reduced to its count.
 */
export type Layout = { epoch: number; shards: number; limits: PlanLimits; since: number };

/** How meters are sharded; tests make it small. */
export type Sharding = {
  /** Requests in flight in one item. */
  marksPerItem: number;
  minShards: number;
  maxShards: number;
  /**
   * For how long the limits of an epoch hold for a caller with others. Environments cache a plan for 10 s: one that
   * has not seen the change yet must not undo the epoch of one that has.
   */
  limitsHoldMs: number;
  /** Requests that one process sees throttled in a minute before it spreads a meter over more items. */
  throttledToSpread: number;
  /** Writes of one item that a process sends one by one; while they are in flight, further ones wait and travel as one. */
  writesInFlight: number;
};
export const SHARDING: Sharding = {
  marksPerItem: 60,
  minShards: 4,
  maxShards: 64,
  limitsHoldMs: 15_000,
  throttledToSpread: 3,
  writesInFlight: 2,
};

/** Names of a layout's attributes. */
export const LIMITS = 'p';
export const SINCE = 't';
export const SHARDS = 's';
export const joinedName = (shard: number): string => `d${shard}`;
export const grantedName = (shard: number, counter: string): string => `g${shard}:${counter}`;
export const budgetName = (epoch: number, counter: string): string => `b${epoch}:${counter}`;
export const finalName = (period: string): string => `z${period}`;

/** Counts of periods that are being forgotten. */
export const finalCountsIn = (root: Item | undefined): EndedPeriod[] =>
  Object.keys(root ?? {})
    .filter((name) => name[0] === 'z')
    .map((name) => ({ period: name.slice(1), used: numberIn(root, name) }));

export const limitsText = ({ rpm, quota, concurrency }: PlanLimits): string =>
  [rpm, quota, concurrency ?? ''].join('|');

const limitsFrom = (text: string): PlanLimits => {
  const [rpm, quota, concurrency] = text.split('|');
  return {
    rpm: Number(rpm),
    quota: Number(quota),
    concurrency: concurrency ? Number(concurrency) : undefined,
  };
};

/** Of a sharded meter's root. */
export const ROOT_NEEDS = ['shards'];

/** @throws UnreadableItem if the root has another layout */
export const requireKnownLayout = (root: Item | undefined): void => {
  if (root && !isUnderstood(root, ROOT_NEEDS)) throw new UnreadableItem('meter');
};

/** Undefined if the meter is not sharded. @throws UnreadableItem */
export const layoutIn = (root: Item | undefined): Layout | undefined => {
  requireKnownLayout(root);
  return root?.[SHARDS] === undefined
    ? undefined
    : {
        epoch: numberIn(root, EPOCH),
        shards: numberIn(root, SHARDS),
        limits: limitsFrom(String(root[LIMITS])),
        since: numberIn(root, SINCE),
      };
};

export const shardsAfter = (from: number, to: number): number[] =>
  Array.from({ length: to - from }, (_, n) => from + n + 1);

/** Where a reservation is tried: the root of a meter that is not sharded, or a shard in an epoch. */
export type Place = { shard: number; epoch: number | undefined };
export const WHOLE_METER: Place = { shard: 0, epoch: undefined };

/** The shard that a request tries first: all are used alike, and a repeat finds its mark. */
export const homeShard = (requestId: string, shards: number): number => {
  let hash = 0;
  for (const character of requestId.slice(-7)) {
    hash = (Math.imul(hash, 31) + (character.codePointAt(0) ?? 0)) >>> 0;
  }
  return 1 + (hash % shards);
};

/** Conditions of a shard that its counts are below its budgets. */
export const belowBudgets = (
  { minute, period }: Pick<Reservation, 'minute' | 'period'>,
  epoch: number,
  marks: number,
): Condition[] => [
  ...[periodName(period), minuteName(minute), IN_FLIGHT].map(
    (counter): Condition => [counter, '<', { attribute: budgetName(epoch, counter) }],
  ),
  [IN_FLIGHT, '<', marks],
];

/** What a shard's counts may reach for sure: its budgets as it was seen, which only grow in an epoch. */
export const budgetsIn = (
  shard: Item | undefined,
  epoch: number,
  { minute, period }: Pick<Reservation, 'minute' | 'period'>,
): PlanLimits => {
  const budget = (counter: string) => numberIn(shard, budgetName(epoch, counter));
  return {
    quota: budget(periodName(period)),
    rpm: budget(minuteName(minute)),
    concurrency: budget(IN_FLIGHT),
  };
};

/** Whether its counts are below its budgets. */
export const hasUnits = (
  shard: Item | undefined,
  epoch: number,
  window: Pick<Reservation, 'minute' | 'period'>,
): boolean =>
  countersOf(window, budgetsIn(shard, epoch, window)).every(
    ({ name, limit }) => numberIn(shard, name) < limit,
  );

export const periodNamesIn = (item: Item, period: string): string[] =>
  Object.keys(item).filter(
    (name) =>
      name === finalName(period) ||
      name === holdName(period) ||
      name.replace(/^(?:a|g\d+:|b\d+:)/, '') === periodName(period),
  );

export const readShards = (table: Pick<Table, 'read'>, meterId: string, { shards }: Layout) =>
  Promise.all(Array.from({ length: shards }, (_, n) => table.read(itemKey(meterId, n + 1))));

/** Reads all items of a meter, the root first. */
export const createReadAll =
  (table: Pick<Table, 'read'>) =>
  async (meterId: string): Promise<(Item | undefined)[]> => {
    const root = await table.read(meterId);
    const layout = layoutIn(root);
    return layout ? [root, ...(await readShards(table, meterId, layout))] : [root];
  };
export type ReadAll = ReturnType<typeof createReadAll>;

/** The state of a meter, from all its items. */
export const snapshotOf = (
  items: (Item | undefined)[],
  query: Pick<Reservation, 'keyId' | 'minute' | 'period' | 'now'>,
): UsageSnapshot => {
  const counts = items.map((item) => countsIn(item, query));
  const sumOf = (name: keyof MeterCounts) => counts.reduce((sum, one) => sum + one[name], 0);
  return {
    minuteCount: sumOf('minuteCount'),
    periodCount: sumOf('periodCount'),
    reservedCount: sumOf('reservedCount'),
    inFlightCount: sumOf('inFlightCount'),
    hasStaleMarks: counts.some(({ hasStaleMarks }) => hasStaleMarks),
    isKeyEnded: isKeyEnded(items[0], query),
    lastUsedAt:
      Math.max(...items.map((item) => numberIn(item, lastUsedName(query.keyId)))) || undefined,
  };
};

/**
 * Counts at an admitted request, by its shard's item and by the root as this process saw it last: the other shards
 * have as much budget left as this one.
 */
export const estimateCounts = (
  item: Item | undefined,
  root: Item,
  reservation: Pick<Reservation, 'minute' | 'period' | 'now'>,
): ReturnType<typeof countsIn> => {
  const { inFlightCount, hasStaleMarks } = countsIn(item, reservation);
  const shards = numberIn(root, SHARDS);
  const estimate = (counter: string): number => {
    const count = numberIn(item, counter);
    const left = numberIn(item, budgetName(numberIn(root, EPOCH), counter)) - count;
    const lent = root[lentName(counter)];
    const used = lent === undefined ? count * shards : Number(lent) - left * shards;
    return ownCount(root, counter) + Math.max(count, used);
  };
  return {
    minuteCount: estimate(minuteName(reservation.minute)),
    periodCount: estimate(periodName(reservation.period)),
    reservedCount: inFlightCount * shards,
    inFlightCount: inFlightCount * shards,
    hasStaleMarks,
  };
};
