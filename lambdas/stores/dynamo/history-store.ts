import { listOf } from '../../support/async-lists.ts';
import { DAY_MS, monthsBetween } from '../../support/clock.ts';
import {
  type ClosedPeriod,
  type DayRange,
  type DaySums,
  type Dimension,
  type FoldedRow,
  HISTORY_DAYS,
  type HistoryProgress,
  type HistoryStore,
  type RowPlace,
} from '../history-store.ts';
import type { RouterStores } from '../router-stores.ts';
import { asSeen, type Condition, expiring, replacing } from './item-write.ts';
import {
  createTable,
  entryOf,
  type Item,
  type ItemKey,
  type Table,
  type TableOptions,
} from './table.ts';

/** Project ids have no `|`. */
const partitionOf = (projectId: string, month: string): string => `${projectId}|${month}`;
const monthOf = (label: string): string => label.slice(0, 7);
/** Sort keys: rows of days, and closed periods. The longest text of a day or label ends in `~`. */
const dayKey = (day: string): string => `d|${day}`;
const periodKey = (period: string): string => `p|${period}`;
/** Sums by dimension, and for the metrics: older versions of the router read neither these nor anything between. */
const spentKey = (dimension: Dimension, day: string): string => `w|${dimension}|${day}`;
const metricsKey = (day: string): string => `m|${day}`;
const sumsKey = (of: DaySums['of'], day: string): string => `s|${of}|${day}`;
const correctionsKey = (day: string): string => `u|${day}`;
const LAST = '~';

const progressKey = (projectId: string, sort: 'folded' | 'metrics' = 'folded'): ItemKey => ({
  partition: partitionOf(projectId, 'progress'),
  sort,
});

/** For `set`: what belongs to a UTC day expires. */
export const expiryOf = (day: string) => expiring(Date.parse(day) + HISTORY_DAYS * DAY_MS);

const settledIn = <Settled>({ settled }: Item): Settled | undefined =>
  settled === undefined ? undefined : (JSON.parse(String(settled)) as Settled);
/** An older version of the router has written neither `version` nor `settled`. */
const foldedIn = (item: Item): FoldedRow => ({
  row: entryOf(item),
  entries: Number(item.entries),
  settled: settledIn(item),
  version: Number(item.version ?? 0),
});
const progressIn = (item: Item): HistoryProgress => ({
  closedDay: String(item.closedDay),
  foldedAt: Number(item.foldedAt),
  settled: settledIn(item) ?? {},
  summedFrom: item.summedAt === item.foldedAt ? String(item.summedFrom) : undefined,
});

const sortOf = ({ day, keyId, model }: RowPlace): string => `${dayKey(day)}|${keyId}|${model}`;
/** What belongs to a project's UTC day. */
type OfDay = { projectId: string; day: string };
const placeOf = ({ projectId, day }: OfDay, sort: string) => ({
  partition: partitionOf(projectId, monthOf(day)),
  sort,
});
const spentPlace = (of: OfDay, dimension: Dimension) => placeOf(of, spentKey(dimension, of.day));
const metricsPlace = (of: OfDay) => placeOf(of, metricsKey(of.day));

const entrySet = (entry: object, day: string) => ({
  entry: JSON.stringify(entry),
  ...expiryOf(day),
});

/** Unless another run has written what this one continues. */
const succeeding = (version: number): Condition =>
  asSeen('version', version === 1 ? undefined : version - 1);

/** The entries of days that have their place by day; from the key `first` on. */
async function* entriesIn<Entry>(
  table: Table,
  { projectId, from, to }: Omit<DayRange, 'after'>,
  keyOf: (day: string) => string,
  first = keyOf(from),
): AsyncGenerator<Entry[], void, void> {
  const bounds = { from: first, to: keyOf(to) + LAST };
  if (bounds.from > bounds.to) return;
  for (const month of monthsBetween(from, to)) {
    const range = { partition: partitionOf(projectId, month), ...bounds, attribute: 'entry' };
    for await (const items of table.range(range)) yield items.map(entryOf<Entry>);
  }
}

export const createDynamoHistoryReader = (options: TableOptions): RouterStores['history'] => {
  const table = createTable(options);
  return {
    readRows: ({ after, ...range }) =>
      after === undefined || after.day < range.from
        ? entriesIn(table, range, dayKey)
        : // The next text in order.
          entriesIn(table, { ...range, from: after.day }, dayKey, `${sortOf(after)}\0`),
    readSpent: (range, dimension) => entriesIn(table, range, (day) => spentKey(dimension, day)),
    readSums: (range, of) => entriesIn(table, range, (day) => sumsKey(of, day)),
    readCorrections: (range) => entriesIn(table, range, correctionsKey),
    readProgress: async (projectId) => {
      const item = await table.read(progressKey(projectId));
      return item && progressIn(item);
    },
  };
};

/** `HistoryStore` on the history table: a partition is a project's month. */
export const createDynamoHistoryStore = (options: TableOptions): HistoryStore => {
  const table = createTable(options);
  const find = async <Entry>(key: ItemKey): Promise<Entry | undefined> => {
    const item = await table.read(key);
    return item && entryOf<Entry>(item);
  };
  const putSumsAt = async (key: ItemKey, entry: { version: number }, day: string) => {
    const { version } = entry;
    return table.applies(key, {
      set: { ...entrySet(entry, day), version },
      conditions: [succeeding(version)],
      returns: 'NONE',
    });
  };
  return {
    ...createDynamoHistoryReader(options),
    putCorrection: async (row, entries) => {
      const sort = sortOf(row);
      // The row last: a run that ends in between repeats both.
      const apart = sort.replace(dayKey(row.day), correctionsKey(row.day));
      for (const at of [apart, sort]) {
        await table.apply(placeOf(row, at), {
          set: { ...entrySet(row, row.day), entries },
          conditions: [['entries', '<= or absent', entries]],
        });
      }
    },
    putSums: (sums) => {
      const { day, of, end } = sums;
      const sort = of === 'model' ? sumsKey(of, day) : `${sumsKey(of, day)}|${end}`;
      return putSumsAt(placeOf(sums, sort), sums, day);
    },
    readFolded: async function* (projectId, day) {
      const bounds = { from: dayKey(day), to: dayKey(day) + LAST };
      const partition = partitionOf(projectId, monthOf(day));
      for await (const items of table.range({ partition, ...bounds })) yield items.map(foldedIn);
    },
    putFolded: async ({ row, entries, settled, version }) =>
      table.applies(placeOf(row, sortOf(row)), {
        // A closed row is not continued.
        ...replacing({
          ...entrySet(row, row.day),
          ...{ entries, version, settled: settled && JSON.stringify(settled) },
        }),
        conditions: [succeeding(version)],
        returns: 'NONE',
      }),
    findSpent: (projectId, day, dimension) => find(spentPlace({ projectId, day }, dimension)),
    putSpent: (spent) => putSumsAt(spentPlace(spent, spent.dimension), spent, spent.day),
    findMetrics: (projectId, day) => find(metricsPlace({ projectId, day })),
    putMetrics: (metrics) => putSumsAt(metricsPlace(metrics), metrics, metrics.day),
    readMetrics: (range) => entriesIn(table, range, metricsKey),
    findTotalMetrics: (projectId) => find(progressKey(projectId, 'metrics')),
    putTotalMetrics: (total) =>
      putSumsAt(progressKey(total.projectId, 'metrics'), total, total.through),
    putPeriod: async (closed) => {
      const { projectId, meterId, period } = closed;
      const month = monthOf(period);
      const sort = `${periodKey(period)}|${meterId}`;
      const place = { partition: partitionOf(projectId, month), sort };
      await table.apply(place, { set: entrySet(closed, `${month}-28`) });
    },
    readPeriods: async (projectId, month) => {
      const partition = partitionOf(projectId, month);
      const bounds = { from: periodKey(month), to: periodKey(month) + LAST };
      const pages = await listOf(table.range({ partition, ...bounds }));
      return pages.flat().map(entryOf<ClosedPeriod>);
    },
    putProgress: async (projectId, { closedDay, foldedAt, settled, summedFrom }) => {
      await table.apply(progressKey(projectId), {
        // `summedAt`: another version of the router, which writes no sums, leaves the one of an earlier run.
        set: {
          ...{ closedDay, foldedAt, settled: JSON.stringify(settled) },
          ...{ summedFrom, summedAt: foldedAt },
        },
        // Of two runs at once one has closed a day that was open for the other.
        conditions: [
          ['foldedAt', '< or absent', foldedAt],
          ['closedDay', '<= or absent', closedDay],
        ],
      });
    },
  };
};
