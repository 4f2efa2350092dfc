import { MINUTE_MS } from '../../../support/clock.ts';
import { type BudgetState, type Hold, labelAt } from '../../budget-store.ts';
import { numberIn } from '../meter-item.ts';
import type { Item } from '../table.ts';
import { KEPT_MS, lentName, limitIn, pastNamesIn } from './items.ts';

/**
 * Budgets of users and sessions. There may be thousands of them under one key, so that the items of its meter have no room
 * for them: each has an item that requests lease from, in writes that travel next to those of the meter.
 *
 *   budget `budget/user/team-a/ann`
 *     max, period    its limit; absent: the one for all users of the project, which keys have
 *     t<label>       leased and spent, in a period
 *     r<request>     open: `<minute>.<lease>.<changes>`; `x<minute>`: settled, and a copy of a write may be applied later
 *
 *   t = leases of open marks + spent <= max at each lease
 *
 * Each write names the mark that it replaces, so that a repeat changes nothing. The lease of a process that died stays in t.
 */
export const MARK = 'r';
const TOMBSTONE = 'x';
const MAX_REMOVED = 40;

/** No two marks of a request are the same: a late copy of a change finds another one than it replaces. */
export const markAfter = (before: string | undefined, minute: number, nanos: number): string => {
  const changes = before === undefined ? 0 : 1 + fieldOf(before, 2);
  return [minute, nanos, changes].map((field) => field.toString(36)).join('.');
};
const fieldOf = (mark: string, index: number): number =>
  Number.parseInt(mark.split('.')[index] ?? '', 36) || 0;
export const nanosIn = (mark: string | undefined): number =>
  mark === undefined ? 0 : fieldOf(mark, 1);
const minuteIn = (mark: string): number => Number.parseInt(mark.replace(TOMBSTONE, ''), 36);
export const isOpen = (mark: unknown): mark is string =>
  typeof mark === 'string' && !mark.startsWith(TOMBSTONE);
const isOver = (mark: string, now: number): boolean => minuteIn(mark) * MINUTE_MS < now - KEPT_MS;

const marksIn = (item: Item | undefined): [name: string, mark: string][] =>
  Object.entries(item ?? {}).filter(
    (entry): entry is [string, string] => entry[0].startsWith(MARK) && typeof entry[1] === 'string',
  );

export const isCounted = ({ budget }: Hold): boolean => /^budget\/(user|session)\//.test(budget);

/** What the item of a user's or a session's budget has counted. A request that is over for long has died. */
export const countedIn = (
  item: Item | undefined,
  { period, label }: Hold,
  now: number,
): BudgetState => {
  let leased = 0;
  for (const [, mark] of marksIn(item)) {
    const isOwn = labelAt(period, minuteIn(mark) * MINUTE_MS) === label;
    if (isOpen(mark) && isOwn && !isOver(mark, now)) leased += nanosIn(mark);
  }
  return {
    leased,
    spent: numberIn(item, lentName({ label })) - leased,
    room: 0,
    limit: limitIn(item),
  };
};

export const pastIn = (item: Item | undefined, now: number): string[] => [
  ...pastNamesIn(item, now),
  ...marksIn(item)
    .filter(([, mark]) => isOver(mark, now))
    .map(([name]) => name)
    .slice(0, MAX_REMOVED),
];

export const tombstoneOf = (minute: number): string => TOMBSTONE + minute.toString(36);
