import type { UsageSums } from '../stores/history-store.ts';
import { addSums, NO_USAGE } from './sums.ts';

/** Values of a dimension that are listed alone: those of the highest cost. */
const MOST_VALUES = 1_000;
/** Values in memory, about 500 bytes each, before the cheapest are added up. */
const MOST_KEPT = 4 * MOST_VALUES;

/** What a value's settled entries add up to, and its later ones. */
export type ValueSums = { settled: UsageSums; open: UsageSums };

export const noSums = (): ValueSums => ({ settled: { ...NO_USAGE }, open: { ...NO_USAGE } });

const addBoth = (sums: ValueSums, more: ValueSums): void => {
  addSums(sums.settled, more.settled);
  addSums(sums.open, more.open);
};

const costOf = ({ settled, open }: ValueSums): number => settled.costNanos + open.costNanos;
const requestsOf = ({ settled: { charged, refunded }, open }: ValueSums): number =>
  charged + refunded + open.charged + open.refunded;

type Entry = [value: string, sums: ValueSums];

/** By cost, then by requests, so that values without a price have an order too. */
const byCost = ([one, a]: Entry, [other, b]: Entry): number =>
  costOf(b) - costOf(a) || requestsOf(b) - requestsOf(a) || (one < other ? -1 : 1);

/**
 * Sums by value in bounded memory. Of more than `MOST_VALUES` the cheapest are added up in `other`, so that the sum of all
 * stays exact. A value that was added up and is seen again begins at zero.
 */
export type TopValues = { values: Map<string, ValueSums>; other: ValueSums };

type IsApart = (value: string) => boolean;
const none: IsApart = () => false;

const shrink = ({ values, other }: TopValues, isApart: IsApart): void => {
  const entries = [...values].filter(([value]) => !isApart(value)).toSorted(byCost);
  for (const [value, sums] of entries.slice(MOST_VALUES)) {
    addBoth(other, sums);
    values.delete(value);
  }
};

/** Adds to a value; `isApart` names those that are always kept. */
export const addValue = (
  top: TopValues,
  value: string,
  more: Partial<ValueSums>,
  isApart: IsApart = none,
): void => {
  const sums = top.values.get(value) ?? noSums();
  top.values.set(value, sums);
  if (more.settled) addSums(sums.settled, more.settled);
  if (more.open) addSums(sums.open, more.open);
  if (top.values.size > MOST_KEPT) shrink(top, isApart);
};

/** All but the most expensive are added up. */
export const toTop = (top: TopValues, isApart: IsApart = none): TopValues => {
  shrink(top, isApart);
  return top;
};
