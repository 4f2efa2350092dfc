import type { Reservation } from '../meter-store.ts';
import type { Grant } from './meter-grants.ts';
import { EPOCH, FLOOR, holdName, holdOf, lentName, type PastCounters } from './meter-item.ts';
import {
  LAYOUT,
  type Layout,
  limitsText,
  type PlanLimits,
  ROOT_NEEDS,
  shardsAfter,
} from './meter-shards.ts';
import { bindReservation, RESERVE } from './meter-writes.ts';
import { NEEDS } from './needs.ts';
import type { Bindings, ConditionalWrite } from './table.ts';

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
type Write = { write: ConditionalWrite; bindings: Bindings };

/** An attribute that is absent, that compares to a value, or that is absent or compares to it. */
type Condition =
  | [attribute: string, 'is absent']
  | [
      attribute: string,
      operator: '=' | '< or absent' | '<= or absent' | '> or absent',
      value: unknown,
    ];

/** A write from the attributes that it changes and the conditions that all hold. */
const writeOf = (
  options: { set?: [string, unknown][]; remove?: string[]; add?: [string, number][] },
  conditions: Condition[],
): Write => {
  const { set = [], remove = [], add = [] } = options;
  const names: Record<string, string> = {};
  const values: Record<string, unknown> = {};
  const bind = <Value>(bound: Record<string, Value>, prefix: string, value: Value): string => {
    const placeholder = `${prefix}${Object.keys(bound).length}`;
    bound[placeholder] = value;
    return placeholder;
  };
  const bindName = (attribute: string) => bind(names, '#n', attribute);
  const bindValue = (value: unknown) => bind(values, ':v', value);
  const clause = (verb: string, parts: string[]) =>
    parts.length > 0 ? [`${verb} ${parts.join(', ')}`] : [];

  const update = [
    ...clause(
      'SET',
      set.map(([attribute, value]) => `${bindName(attribute)} = ${bindValue(value)}`),
    ),
    ...clause('REMOVE', remove.map(bindName)),
    ...clause(
      'ADD',
      add.map(([attribute, value]) => `${bindName(attribute)} ${bindValue(value)}`),
    ),
  ].join(' ');
  const condition = conditions
    .map(([attribute, operator, value]) => {
      const name = bindName(attribute);
      const [comparison, , mayBeAbsent] = operator.split(' ');
      if (comparison === 'is') return `attribute_not_exists(${name})`;
      const compares = `${name} ${comparison} ${bindValue(value)}`;
      return mayBeAbsent ? `(attribute_not_exists(${name}) OR ${compares})` : compares;
    })
    .join(' AND ');
  return { write: { update, condition }, bindings: { names, values } };
};

/** `RESERVE` in a shard, whose budgets stand for the limits. */
const RESERVE_IN_SHARD: ConditionalWrite = {
  update: RESERVE.update,
  condition: [
    'attribute_not_exists(#mark)',
    '(attribute_not_exists(#floor) OR #floor < :minute)',
    '(attribute_not_exists(#keyEnd) OR #keyEnd > :now)',
    '#epoch = :epoch',
    '#period < #periodBudget AND #minute < #minuteBudget AND #inFlight < #inFlightBudget',
    '#inFlight < :marks',
  ].join(' AND '),
};

export const reserveInShard = (reservation: Reservation, epoch: number, marks: number): Write => {
  const { names, values } = bindReservation(reservation, marks);
  const budgetOf = (counter: string) => LAYOUT.budgetName(epoch, counter);
  const budgets = {
    '#periodBudget': budgetOf(names['#period']),
    '#minuteBudget': budgetOf(names['#minute']),
    '#inFlightBudget': budgetOf(names['#inFlight']),
  };
  return {
    write: RESERVE_IN_SHARD,
    bindings: {
      names: { ...names, ...budgets },
      values: { ...values, ':epoch': epoch, ':marks': marks },
    },
  };
};

/** New shards have nothing to take back: they join as they are registered. */
const joinNew = (epoch: number, from: number, to: number): [string, number][] =>
  shardsAfter(from, to).map((shard) => [LAYOUT.joinedName(shard), epoch]);

const granting = ({ shards, counter, to }: Grant): [string, number][] =>
  shards.map((shard) => [LAYOUT.grantedName(shard, counter), to]);

/** What is lent stays counted in the root, as the requests that 0.1.0 admits there are. */
const lend = (counter: string, amount: number): [string, number][] => [
  [lentName(counter), amount],
  [counter, amount],
];

const lending = ({ counter, shards, amount }: Grant) => lend(counter, amount * shards.length);

const leavingRoom = ({ counter, max }: Grant): Condition => [counter, '<= or absent', max];

/** `RESERVE` writes it into the root of a period that began before the meter was sharded. */
const holding = (period: string): [string, string] => [holdName(period), holdOf(period)];

/** Begins an epoch with these limits; the first one shards the meter. */
export const beginEpoch = (
  last: Layout | undefined,
  { limits, now, shards }: { limits: PlanLimits; now: number; shards: number },
): Write =>
  writeOf(
    {
      set: [
        [EPOCH, (last?.epoch ?? 0) + 1],
        [LAYOUT.LIMITS, limitsText(limits)],
        [LAYOUT.SINCE, now],
        [LAYOUT.SHARDS, shards],
        ...(last
          ? []
          : [[NEEDS, ROOT_NEEDS] satisfies [string, unknown], ...joinNew(1, 0, shards)]),
      ],
    },
    last
      ? [
          [EPOCH, '=', last.epoch],
          [LAYOUT.SHARDS, '=', shards],
        ]
      : [
          [EPOCH, 'is absent'],
          [NEEDS, 'is absent'],
        ],
  );

/** Registers further shards, with what they are granted. */
export const addShards = (
  { epoch, shards }: Layout,
  to: number,
  { minute, period }: Pick<Reservation, 'minute' | 'period'>,
  grants: Grant[],
): Write =>
  writeOf(
    {
      set: [
        [LAYOUT.SHARDS, to],
        ...joinNew(epoch, shards, to),
        ...grants.flatMap(granting),
        holding(period),
      ],
      add: grants.flatMap(lending),
    },
    [
      [EPOCH, '=', epoch],
      [LAYOUT.SHARDS, '=', shards],
      [FLOOR, '< or absent', minute],
      ...grants.map(leavingRoom),
    ],
  );

/** Moves a shard to the root's epoch. From then on its counts rise by grants of that epoch only. */
export const joinEpoch = (epoch: number, budgets: string[]): Write =>
  writeOf({ set: [[EPOCH, epoch]], remove: budgets }, [[EPOCH, '< or absent', epoch]]);

/** Reduces the grants of a shard that has joined to its counts. */
export const takeBack = (
  shard: number,
  epoch: number,
  excess: { counter: string; count: number; excess: number }[],
): Write =>
  writeOf(
    {
      set: [
        [LAYOUT.joinedName(shard), epoch],
        ...excess.map(({ counter, count }): [string, number] => [
          LAYOUT.grantedName(shard, counter),
          count,
        ]),
      ],
      add: excess.flatMap((part) => lend(part.counter, -part.excess)),
    },
    [
      [EPOCH, '=', epoch],
      [LAYOUT.joinedName(shard), '< or absent', epoch],
    ],
  );

/** Grants what a shard lacks for one more request of the minute, and removes what past minutes left. */
export const grant = (
  shard: number,
  { epoch, minute, period }: { epoch: number } & Pick<Reservation, 'minute' | 'period'>,
  grants: Grant[],
  past: PastCounters | undefined,
): Write => {
  const set: [string, unknown][] = [...grants.flatMap(granting), holding(period)];
  const isUnchanged = ({ counter, from }: Grant): Condition => {
    const granted = LAYOUT.grantedName(shard, counter);
    return from === undefined ? [granted, 'is absent'] : [granted, '=', from];
  };
  // Of several shards none has been granted any.
  const isFirst = grants
    .filter(({ shards }) => shards.length > 1)
    .map(({ counter }): Condition => [lentName(counter), 'is absent']);
  return writeOf(
    {
      set: past ? [...set, [FLOOR, past.floor]] : set,
      remove: past?.names ?? [],
      add: grants.flatMap(lending),
    },
    [
      [EPOCH, '=', epoch],
      [LAYOUT.joinedName(shard), '=', epoch],
      [FLOOR, '< or absent', minute],
      ...(past ? [[FLOOR, '<= or absent', past.floor] satisfies Condition] : []),
      ...grants.map(isUnchanged),
      ...grants.map(leavingRoom),
      ...isFirst,
    ],
  );
};

/**
 * Copies what the root granted to the shard's budgets, and the ends of keys that it lacks. A count that is absent becomes
 * 0, so that it compares.
 */
export const copyBudgets = (
  epoch: number,
  budgets: { counter: string; budget: number }[],
  keyEnds: [string, number][],
): Write => {
  const nameOf = (counter: string) => LAYOUT.budgetName(epoch, counter);
  return writeOf(
    {
      set: [
        ...budgets.map(({ counter, budget }): [string, number] => [nameOf(counter), budget]),
        ...keyEnds,
      ],
      add: budgets.map(({ counter }) => [counter, 0]),
    },
    [
      [EPOCH, '=', epoch],
      ...budgets.map(({ counter, budget }): Condition => [nameOf(counter), '<= or absent', budget]),
      ...keyEnds.map(([name, end]): Condition => [name, '> or absent', end]),
    ],
  );
};

/** Fixes the final count of a period before its counters are removed one item at a time. */
export const fixPeriod = (period: string, used: number): Write =>
  writeOf({ set: [[LAYOUT.finalName(period), used]] }, [[LAYOUT.finalName(period), 'is absent']]);
