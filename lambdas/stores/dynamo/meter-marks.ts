import { MINUTE_MS } from '../../support/clock.ts';
import { createLruCache, oncePer } from '../../support/memo.ts';
import type { Lease } from '../budget-store.ts';
import type { ReservedUnit } from '../meter-store.ts';
import type { Item } from './table.ts';

/** The marks of requests in the item of a meter (meter-item.ts describes them). */
export const MARK = 'm';
export const markName = (requestId: string): string => MARK + requestId.slice(-7);

/** Lengths of the labels of an hour, a day and a month, by the letter of each in a mark. */
const LABEL_LENGTHS: Record<string, number> = { h: 13, d: 10, m: 7 };
const TOMBSTONE = 'x';

const markOf = ({ minute, period }: Pick<ReservedUnit, 'minute' | 'period'>): string => {
  const kind = Object.keys(LABEL_LENGTHS).find((letter) => LABEL_LENGTHS[letter] === period.length);
  return `${kind}${(minute - FIRST_MINUTE).toString(36)}`;
};

export const tombstoneOf = (unit: Pick<ReservedUnit, 'minute' | 'period'>): string =>
  TOMBSTONE + markOf(unit);

/** Begins the lease of a request under a budget of dollars (budgets/items.ts). */
const LEASE = '.';

/** The mark of a unit, with the dollars that its request has leased. */
export const openMarkOf = (unit: ReservedUnit): string =>
  unit.lease ? leasedMarkOf(unit, unit.lease) : markOf(unit);

export const leasedMarkOf = (unit: ReservedUnit, { nanos }: Pick<Lease, 'nanos'>): string =>
  markOf(unit) + LEASE + nanos.toString(36);

/** What a mark has leased, in nanos. */
export const leasedIn = (mark: string): number =>
  Number.parseInt(mark.slice(mark.indexOf(LEASE) + 1 || mark.length), 36) || 0;

/** Whether it is the open mark of a unit, with any lease. */
export const isMarkOf = (mark: unknown, unit: ReservedUnit): mark is string => {
  const plain = markOf(unit);
  return mark === plain || (typeof mark === 'string' && mark.startsWith(plain + LEASE));
};

/** A request's mark; an open one holds a unit. `isCounted`: in `n`, which version 0.1.0 did not write. */
export type Mark = {
  name: string;
  value: string;
  isOpen: boolean;
  isCounted: boolean;
  minute: number;
  period: string;
};

/** Marks count minutes from here: four characters until 2029. */
const FIRST_MINUTE = Date.UTC(2026, 0) / MINUTE_MS;

const minuteIn = (text: string): number => FIRST_MINUTE + Number.parseInt(text.slice(1), 36);

/** Periods by the texts of marks, of which a minute has three at most: the text of a date takes 1 us. */
const periodIn = oncePer(createLruCache<string>(100), (text) => {
  const start = new Date(minuteIn(text) * MINUTE_MS).toISOString();
  return start.slice(0, LABEL_LENGTHS[text.charAt(0)]);
});

const readMark = (name: string, value: string): Mark => {
  const isOpen = !value.startsWith(TOMBSTONE);
  const end = value.indexOf(LEASE);
  const text = value.slice(isOpen ? 0 : 1, end < 0 ? undefined : end);
  const [minute, period] = [minuteIn(text), periodIn(text)];
  return { name, value, isOpen, isCounted: isOpen, minute, period };
};

/** A mark of version 0.1.0. */
const readOldMark = (name: string, value: string): Mark => {
  const [minute = '', period = ''] = value.split('|');
  const isOpen = name.startsWith('o');
  return { name, value, isOpen, isCounted: false, minute: Number(minute), period };
};

export const marksIn = (item: Item | undefined): Mark[] => {
  const marks: Mark[] = [];
  for (const name in item) {
    const value = item[name];
    if (typeof value !== 'string') continue;
    const last = marks.at(-1);
    // Most requests in flight began in one minute.
    if (name.startsWith(MARK))
      marks.push(last?.value === value ? { ...last, name } : readMark(name, value));
    else if (/^[ocx]/.test(name) && value.includes('|')) marks.push(readOldMark(name, value));
  }
  return marks;
};

/** Whether a mark holds a unit. */
export const isOpenMark = (mark: string): boolean => !mark.startsWith(TOMBSTONE);

/** The first of a meter's items in which a request has such a mark; -1 if there is none. */
export const findMark = (
  items: (Item | undefined)[],
  requestId: string,
  isSought: (mark: string) => boolean,
): number => {
  const name = markName(requestId);
  return items.findIndex((item) => typeof item?.[name] === 'string' && isSought(item[name]));
};
