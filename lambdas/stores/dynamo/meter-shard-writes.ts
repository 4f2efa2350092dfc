import type { Reservation } from '../meter-store.ts';
import { EPOCH, FLOOR, type PastCounters } from './meter-item.ts';
import {
  countersOf,
  type Grant,
  LAYOUT,
  type Layout,
  limitsText,
  type PlanLimits,
} from './meter-shards.ts';
import { bindRemoved, bindReservation, RESERVE } from './meter-writes.ts';
import type { Bindings, ConditionalWrite } from './table.ts';

/**
 * The conditional writes of a sharded meter (layout: meter-shards.ts), in the order in which they meet. An epoch and
 * a grant only grow, so that a repeated or late copy of any of them changes nothing.
 *
 *   open, or begin an epoch   root    e + 1
 *   join                      shard   e = the root's, all budgets end; its counts stand still
 *   take back                 root    d = e, g = count, a - what g was too high
 *   grant                     root    g + k, a + k, if a leaves room in every limit
 *   copy                      shard   b = g
 *   reserve                   shard   as in one item, if each count < b
 */
type Write = { write: ConditionalWrite; bindings: Bindings };

/** A write from its parts: `names` and `values` by placeholder, conditions joined by AND. */
const writeOf = (
  { set = [], remove = [], add = [] }: { set?: string[]; remove?: string[]; add?: string[] },
  conditions: string[],
  bindings: Bindings,
): Write => {
  const clauses = Object.entries({ SET: set, REMOVE: remove, ADD: add });
  const update = clauses
    .filter(([, parts]) => parts.length > 0)
    .map(([verb, parts]) => `${verb} ${parts.join(', ')}`)
    .join(' ');
  const condition = conditions.join(' AND ');
  return { write: condition ? { update, condition } : { update }, bindings };
};

/** Placeholders with an index, bound to the values of a list. */
const indexed = <Value>(prefix: string, list: Value[]): Record<string, Value> =>
  Object.fromEntries(list.map((value, index) => [`${prefix}${index}`, value]));

/** `RESERVE` in a shard, whose budgets stand for the limits. */
export const reserveInShard = (reservation: Reservation, epoch: number, marks: number): Write => {
  const counters = countersOf(reservation, reservation).map(({ name }) => name);
  const { names, values } = bindReservation(reservation, marks);
  return {
    write: {
      update: RESERVE.update,
      condition: [
        'attribute_not_exists(#mark)',
        '(attribute_not_exists(#floor) OR #floor < :minute)',
        '(attribute_not_exists(#keyEnd) OR #keyEnd > :now)',
        '#epoch = :epoch',
        ...counters.map((_, index) => `#count${index} < #budget${index}`),
        '#inFlight < :concurrency',
      ].join(' AND '),
    },
    bindings: {
      names: {
        ...names,
        ...indexed('#count', counters),
        ...indexed(
          '#budget',
          counters.map((counter) => LAYOUT.budgetName(epoch, counter)),
        ),
      },
      // The limit of requests in flight is a budget, too.
      values: { ...values, ':epoch': epoch, ':concurrency': marks },
    },
  };
};

/** Begins an epoch with these limits; the first one shards the meter. */
export const beginEpoch = (
  last: Layout | undefined,
  { limits, now, shards }: { limits: PlanLimits; now: number; shards: number },
): Write =>
  writeOf(
    { set: ['#epoch = :next', '#limits = :limits', '#since = :now', '#shards = :shards'] },
    last ? ['#epoch = :last', '#shards = :shards'] : ['attribute_not_exists(#epoch)'],
    {
      names: {
        '#epoch': EPOCH,
        '#limits': LAYOUT.LIMITS,
        '#since': LAYOUT.SINCE,
        '#shards': LAYOUT.SHARDS,
      },
      values: {
        ':next': (last?.epoch ?? 0) + 1,
        ':last': last?.epoch,
        ':limits': limitsText(limits),
        ':now': now,
        ':shards': shards,
      },
    },
  );

/** Registers further shards. */
export const addShards = (from: number, to: number): Write =>
  writeOf({ set: ['#shards = :to'] }, ['#shards = :from'], {
    names: { '#shards': LAYOUT.SHARDS },
    values: { ':from': from, ':to': to },
  });

/** Moves a shard to the root's epoch. From then on its counts rise by grants of that epoch only. */
export const joinEpoch = (epoch: number, budgets: string[]): Write => {
  const removed = bindRemoved(budgets);
  return writeOf(
    { set: ['#epoch = :epoch'], remove: Object.keys(removed) },
    ['(attribute_not_exists(#epoch) OR #epoch < :epoch)'],
    { names: { '#epoch': EPOCH, ...removed }, values: { ':epoch': epoch } },
  );
};

/** Reduces the grants of a shard that has joined to its counts. */
export const takeBack = (
  shard: number,
  epoch: number,
  excess: { counter: string; count: number; excess: number }[],
): Write =>
  writeOf(
    {
      set: ['#joined = :epoch', ...excess.map((_, index) => `#g${index} = :g${index}`)],
      add: excess.map((_, index) => `#lent${index} :lent${index}`),
    },
    ['#epoch = :epoch', '(attribute_not_exists(#joined) OR #joined < :epoch)'],
    {
      names: {
        '#epoch': EPOCH,
        '#joined': LAYOUT.joinedName(shard),
        ...indexed(
          '#g',
          excess.map(({ counter }) => LAYOUT.grantedName(shard, counter)),
        ),
        ...indexed(
          '#lent',
          excess.map(({ counter }) => LAYOUT.lentName(counter)),
        ),
      },
      values: {
        ':epoch': epoch,
        ...indexed(
          ':g',
          excess.map(({ count }) => count),
        ),
        ...indexed(
          ':lent',
          excess.map((part) => -part.excess),
        ),
      },
    },
  );

/** Grants a shard what it lacks for one more request of the minute, and removes what past minutes left. */
export const grant = (
  shard: number,
  { epoch, minute }: { epoch: number; minute: number },
  grants: Grant[],
  past: PastCounters | undefined,
): Write => {
  const removed = bindRemoved(past?.names ?? []);
  const hasOf = ({ from }: Grant, index: number) =>
    from === undefined ? `attribute_not_exists(#g${index})` : `#g${index} = :from${index}`;
  return writeOf(
    {
      set: [
        ...grants.map((_, index) => `#g${index} = :to${index}`),
        ...(past ? ['#floor = :floor'] : []),
      ],
      remove: Object.keys(removed),
      add: grants.map((_, index) => `#lent${index} :amount${index}`),
    },
    [
      '#epoch = :epoch AND #joined = :epoch',
      '(attribute_not_exists(#floor) OR #floor < :minute)',
      ...(past ? ['(attribute_not_exists(#floor) OR #floor <= :floor)'] : []),
      ...grants.map(hasOf),
      ...grants.map((_, n) => `(attribute_not_exists(#lent${n}) OR #lent${n} <= :max${n})`),
    ],
    {
      names: {
        '#epoch': EPOCH,
        '#joined': LAYOUT.joinedName(shard),
        '#floor': FLOOR,
        ...indexed(
          '#g',
          grants.map(({ counter }) => LAYOUT.grantedName(shard, counter)),
        ),
        ...indexed(
          '#lent',
          grants.map(({ counter }) => LAYOUT.lentName(counter)),
        ),
        ...removed,
      },
      values: {
        ':epoch': epoch,
        ':minute': minute,
        ':floor': past?.floor,
        ...indexed(
          ':from',
          grants.map(({ from }) => from),
        ),
        ...indexed(
          ':to',
          grants.map(({ to }) => to),
        ),
        ...indexed(
          ':amount',
          grants.map(({ amount }) => amount),
        ),
        ...indexed(
          ':max',
          grants.map(({ max }) => max),
        ),
      },
    },
  );
};

/** Copies what the root granted to the shard's budgets; a count that is absent becomes 0, so that it compares. */
export const copyBudgets = (epoch: number, budgets: { counter: string; budget: number }[]): Write =>
  writeOf(
    {
      set: budgets.map((_, index) => `#b${index} = :b${index}`),
      add: budgets.map((_, index) => `#c${index} :zero`),
    },
    [
      '#epoch = :epoch',
      ...budgets.map((_, n) => `(attribute_not_exists(#b${n}) OR #b${n} <= :b${n})`),
    ],
    {
      names: {
        '#epoch': EPOCH,
        ...indexed(
          '#b',
          budgets.map(({ counter }) => LAYOUT.budgetName(epoch, counter)),
        ),
        ...indexed(
          '#c',
          budgets.map(({ counter }) => counter),
        ),
      },
      values: {
        ':epoch': epoch,
        ':zero': 0,
        ...indexed(
          ':b',
          budgets.map(({ budget }) => budget),
        ),
      },
    },
  );

/** Fixes the final count of a period before its counters are removed one item at a time. */
export const fixPeriod = (period: string, used: number): Write =>
  writeOf({ set: ['#final = :used'] }, ['attribute_not_exists(#final)'], {
    names: { '#final': LAYOUT.finalName(period) },
    values: { ':used': used },
  });
