import {
  DIMENSIONS,
  type Dimension,
  type HistoryStore,
  type SpentBy,
} from '../stores/history-store.ts';
import type { RequestRecord, Who } from '../stores/record-store.ts';
import { boundOf, type DayRange, isAnew } from './day-range.ts';
import { NO_USAGE, SUM_NAMES } from './sums.ts';
import { addValue, noSums, type TopValues, toTop, type ValueSums } from './top-values.ts';

/** Names of tags that a day is summed by; `name=` has the sum of each, and is always kept. */
const MOST_NAMES = 50;

/** `name=value` of a kept tag, or the name's own `name=`. */
const isName = (value: string): boolean => value.endsWith('=');

type Sums = ValueSums['settled'];

const read = (numbers: number[] | undefined): Sums =>
  numbers
    ? Object.assign({ ...NO_USAGE }, ...SUM_NAMES.map((name, at) => ({ [name]: numbers[at] ?? 0 })))
    : { ...NO_USAGE };
const isZero = (sums: Sums): boolean => SUM_NAMES.every((name) => sums[name] === 0);
const write = (sums: Sums): number[] => (isZero(sums) ? [] : SUM_NAMES.map((name) => sums[name]));

/** The stored sums of a day by a dimension; of a closed day all are settled. */
export const topOf = ({ values, other }: Pick<SpentBy, 'values' | 'other'>): TopValues => ({
  values: new Map(
    values.map(([value, settled, open]) => [value, { settled: read(settled), open: read(open) }]),
  ),
  other: { settled: read(other[0]), open: read(other[1]) },
});

const valuesOf = (who: Who, dimension: Dimension): string[] => {
  if (dimension !== 'tag') return who[dimension] === undefined ? [] : [who[dimension]];
  const tags = who.tags ?? [];
  return [...tags, ...tags.map((tag) => tag.slice(0, tag.indexOf('=') + 1))];
};

type Growing = {
  stored: SpentBy | undefined;
  top: TopValues;
  /** As of a row (fold-day.ts). */
  until: number;
  bound: number;
  /** Of tags. */
  names: Set<string>;
  hasMore: boolean;
};

type Stored = Pick<SpentBy, 'values' | 'other' | 'hasMore'>;
const NOTHING: Stored = { values: [], other: [[], []], hasMore: false };

const growingOf = (stored: SpentBy | undefined, range: DayRange): Growing => {
  const before = isAnew(range) ? undefined : stored;
  const top = before ? topOf(before) : { values: new Map(), other: noSums() };
  // Later entries are read again.
  for (const sums of [...top.values.values(), top.other]) sums.open = { ...NO_USAGE };
  const until = before?.until ?? Number.NEGATIVE_INFINITY;
  const names = new Set([...top.values.keys()].filter(isName));
  const bound = boundOf(range, stored?.until);
  return { stored, top, until, bound, names, hasMore: before?.hasMore ?? false };
};

const addTo = (growing: Growing, dimension: Dimension, value: string, more: Partial<ValueSums>) => {
  const { top, names } = growing;
  if (dimension !== 'tag') {
    addValue(top, value, more);
    return;
  }
  const name = value.slice(0, value.indexOf('=') + 1);
  if (!names.has(name) && names.size >= MOST_NAMES) {
    growing.hasMore = true;
    return;
  }
  names.add(name);
  addValue(top, value, more, isName);
};

const listed = (top: TopValues): Pick<SpentBy, 'values' | 'other'> => ({
  values: [...top.values]
    .filter(([, { settled, open }]) => !isZero(settled) || !isZero(open))
    .map(([value, { settled, open }]) => [value, write(settled), write(open)]),
  other: [write(top.other.settled), write(top.other.open)],
});

/** Reads the sums of a day by user, session, agent, client and tag before its entries are read, as its rows are (fold-day.ts). */
export const openSpent = async (
  history: Pick<HistoryStore, 'findSpent' | 'putSpent'>,
  wanted: DayRange,
) => {
  const { projectId, day } = wanted;
  const isClosing = wanted.settledUntil === undefined;
  const all = new Map<Dimension, Growing>();
  await Promise.all(
    DIMENSIONS.map(async (dimension) => {
      const stored = await history.findSpent(projectId, day, dimension);
      const isClosed = stored !== undefined && stored.until === undefined;
      if (isClosing || !isClosed) all.set(dimension, growingOf(stored, wanted));
    }),
  );
  const next = (dimension: Dimension, { stored, top, bound, hasMore }: Growing) => {
    const sums = { ...listed(toTop(top, dimension === 'tag' ? isName : undefined)), hasMore };
    const { values, other, hasMore: had }: Stored = stored ?? NOTHING;
    const before = { values, other, hasMore: had };
    const isOpen = stored === undefined || stored.until !== undefined;
    if (isOpen !== isClosing && JSON.stringify(before) === JSON.stringify(sums)) return undefined;
    if (stored === undefined && sums.values.length === 0) return undefined;
    return {
      ...{ projectId, day, dimension },
      ...sums,
      until: isClosing ? undefined : bound,
      version: (stored?.version ?? 0) + 1,
    };
  };
  return {
    add: ({ who }: RequestRecord, sums: Sums, time: number): void => {
      if (who === undefined) return;
      for (const [dimension, growing] of all) {
        if (time < growing.until) continue;
        const isSettled = time < growing.bound;
        for (const value of valuesOf(who, dimension))
          addTo(growing, dimension, value, isSettled ? { settled: sums } : { open: sums });
      }
    },
    /** Writes what has changed; false if another run has written since it was read. */
    write: async (): Promise<boolean> => {
      let isWritten = true;
      for (const [dimension, growing] of all) {
        const spent = next(dimension, growing);
        if (spent && !(await history.putSpent(spent))) isWritten = false;
      }
      return isWritten;
    },
  };
};
