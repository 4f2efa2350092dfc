import { listOf } from '../../support/async-lists.ts';
import { DAY_MS, monthsBetween } from '../../support/clock.ts';
import {
  type ClosedPeriod,
  type DayMetrics,
  type DayRange,
  type DaySums,
  type Dimension,
  type FoldedRow,
  HISTORY_DAYS,
  type HistoryProgress,
  type HistoryStore,
  type RowPlace,
  type SpentBy,
  type TotalMetrics,
  type UsageRow,
} from '../history-store.ts';
import type { RouterStores } from '../router-stores.ts';
import {
  type ConditionalWrite,
  createTable,
  type Item,
  type ItemKey,
  type Table,
  type TableOptions,
} from './table.ts';

const PUT_ROW: ConditionalWrite = {
  update: 'SET #entry = :entry, #entries = :entries, #ttl = :ttl',
  condition: 'attribute_not_exists(#entries) OR #entries <= :entries',
};
/** Of a row that a run writes for the first time, or wrote before; a closed one is not continued. PURE: not in the router. */
const putFolded = (condition: string): { open: ConditionalWrite; closed: ConditionalWrite } => {
  const set = 'SET #entry = :entry, #entries = :entries, #version = :version, #ttl = :ttl';
  return {
    open: { update: `${set}, #settled = :settled`, condition, returns: 'NONE' },
    closed: { update: `${set} REMOVE #settled`, condition, returns: 'NONE' },
  };
};
const PUT_FIRST = /* @__PURE__ */ putFolded('attribute_not_exists(#version)');
const PUT_NEXT = /* @__PURE__ */ putFolded('#version = :seen');
/** Of sums that each run writes as a whole, unless another one did in between. */
const putSums = (condition: string): ConditionalWrite => ({
  update: 'SET #entry = :entry, #version = :version, #ttl = :ttl',
  condition,
  returns: 'NONE',
});
const PUT_FIRST_SUMS = /* @__PURE__ */ putSums('attribute_not_exists(#version)');
const PUT_NEXT_SUMS = /* @__PURE__ */ putSums('#version = :seen');
const PUT_PERIOD: ConditionalWrite = { update: 'SET #entry = :entry, #ttl = :ttl' };
const PUT_PROGRESS: ConditionalWrite = {
  // `summedAt`: another version of the router, which writes no sums, leaves the one of an earlier run.
  update:
    'SET #closedDay = :closedDay, #foldedAt = :foldedAt, #settled = :settled, #summedFrom = :summedFrom, #summedAt = :foldedAt',
  // Of two runs at once one has closed a day that was open for the other.
  condition:
    'attribute_not_exists(#foldedAt) OR (#foldedAt < :foldedAt AND #closedDay <= :closedDay)',
};

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

const progressKey = (projectId: string): ItemKey => ({
  partition: partitionOf(projectId, 'progress'),
  sort: 'folded',
});
const totalKey = (projectId: string): ItemKey => ({
  partition: partitionOf(projectId, 'progress'),
  sort: 'metrics',
});

/** When what belongs to a UTC day expires, in epoch seconds. */
export const expiryOf = (day: string): number =>
  Math.ceil(Date.parse(day) / 1000) + HISTORY_DAYS * (DAY_MS / 1000);

/** Written by this store only. */
const rowIn = (item: Item): UsageRow => JSON.parse(String(item.entry)) as UsageRow;
const settledIn = ({ settled }: Item): FoldedRow['settled'] =>
  settled === undefined ? undefined : (JSON.parse(String(settled)) as FoldedRow['settled']);
/** An older version of the router has written neither `version` nor `settled`. */
const foldedIn = (item: Item): FoldedRow => ({
  row: rowIn(item),
  entries: Number(item.entries),
  settled: settledIn(item),
  version: Number(item.version ?? 0),
});
const progressIn = (item: Item): HistoryProgress => ({
  closedDay: String(item.closedDay),
  foldedAt: Number(item.foldedAt),
  settled:
    item.settled === undefined
      ? {}
      : (JSON.parse(String(item.settled)) as HistoryProgress['settled']),
  summedFrom: item.summedAt === item.foldedAt ? String(item.summedFrom) : undefined,
});
/** Sums and closed periods are written by this store only, too. */
const entryIn = <Entry>(item: Item): Entry => JSON.parse(String(item.entry)) as Entry;

const sortOf = ({ day, keyId, model }: RowPlace): string => `${dayKey(day)}|${keyId}|${model}`;
const rowKey = (row: UsageRow) => ({
  partition: partitionOf(row.projectId, monthOf(row.day)),
  sort: sortOf(row),
});
const rowValues = (row: UsageRow) => ({ ':entry': JSON.stringify(row), ':ttl': expiryOf(row.day) });

/** The entries of days that have their place by day. */
async function* entriesIn<Entry>(
  table: Table,
  { projectId, from, to }: Omit<DayRange, 'after'>,
  keyOf: (day: string) => string,
): AsyncGenerator<Entry[], void, void> {
  const bounds = { from: keyOf(from), to: keyOf(to) + LAST };
  for (const month of monthsBetween(from, to)) {
    const range = { partition: partitionOf(projectId, month), ...bounds, attribute: 'entry' };
    for await (const items of table.range(range)) yield items.map(entryIn<Entry>);
  }
}

export const createDynamoHistoryReader = (options: TableOptions): RouterStores['history'] => {
  const table = createTable(options);
  return {
    readRows: async function* ({ projectId, from, to, after }) {
      const isAfter = after !== undefined && after.day >= from;
      const bounds = {
        // The next text in order.
        from: isAfter ? `${sortOf(after)}\0` : dayKey(from),
        to: dayKey(to) + LAST,
      };
      if (bounds.from > bounds.to) return;
      for (const month of monthsBetween(isAfter ? after.day : from, to)) {
        const partition = partitionOf(projectId, month);
        const range = { partition, ...bounds, attribute: 'entry' };
        for await (const items of table.range(range)) yield items.map(rowIn);
      }
    },
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
  const putSumsAt = async (key: ItemKey, entry: { version: number }, day: string) => {
    const { version } = entry;
    const values = {
      ':entry': JSON.stringify(entry),
      ':ttl': expiryOf(day),
      ':version': version,
      ':seen': version - 1,
    };
    const write = version === 1 ? PUT_FIRST_SUMS : PUT_NEXT_SUMS;
    return (await table.apply(key, write, { values })).applied;
  };
  return {
    ...createDynamoHistoryReader(options),
    putCorrection: async (row, entries) => {
      const { partition, sort } = rowKey(row);
      const values = { ...rowValues(row), ':entries': entries };
      // The row last: a run that ends in between repeats both.
      const apart = sort.replace(dayKey(row.day), correctionsKey(row.day));
      for (const at of [apart, sort])
        await table.apply({ partition, sort: at }, PUT_ROW, { values });
    },
    putSums: (sums) => {
      const { projectId, day, of, end } = sums;
      const partition = partitionOf(projectId, monthOf(day));
      const sort = of === 'model' ? sumsKey(of, day) : `${sumsKey(of, day)}|${end}`;
      return putSumsAt({ partition, sort }, sums, day);
    },
    readFolded: async function* (projectId, day) {
      const bounds = { from: dayKey(day), to: dayKey(day) + LAST };
      const partition = partitionOf(projectId, monthOf(day));
      for await (const items of table.range({ partition, ...bounds })) yield items.map(foldedIn);
    },
    putFolded: async ({ row, entries, settled, version }) => {
      const writes = version === 1 ? PUT_FIRST : PUT_NEXT;
      const write = settled ? writes.open : writes.closed;
      const values = {
        ...rowValues(row),
        ':entries': entries,
        ':settled': settled && JSON.stringify(settled),
        ':version': version,
        ':seen': version - 1,
      };
      return (await table.apply(rowKey(row), write, { values })).applied;
    },
    findSpent: async (projectId, day, dimension) => {
      const partition = partitionOf(projectId, monthOf(day));
      const item = await table.read({ partition, sort: spentKey(dimension, day) });
      return item && entryIn<SpentBy>(item);
    },
    putSpent: async (spent) => {
      const { projectId, day, dimension } = spent;
      const partition = partitionOf(projectId, monthOf(day));
      return putSumsAt({ partition, sort: spentKey(dimension, day) }, spent, day);
    },
    findMetrics: async (projectId, day) => {
      const partition = partitionOf(projectId, monthOf(day));
      const item = await table.read({ partition, sort: metricsKey(day) });
      return item && entryIn<DayMetrics>(item);
    },
    putMetrics: async (metrics) => {
      const { projectId, day } = metrics;
      const partition = partitionOf(projectId, monthOf(day));
      return putSumsAt({ partition, sort: metricsKey(day) }, metrics, day);
    },
    readMetrics: (range) => entriesIn(table, range, metricsKey),
    findTotalMetrics: async (projectId) => {
      const item = await table.read(totalKey(projectId));
      return item && entryIn<TotalMetrics>(item);
    },
    putTotalMetrics: (total) => putSumsAt(totalKey(total.projectId), total, total.through),
    putPeriod: async (closed) => {
      const { projectId, meterId, period } = closed;
      const month = monthOf(period);
      const sort = `${periodKey(period)}|${meterId}`;
      await table.apply({ partition: partitionOf(projectId, month), sort }, PUT_PERIOD, {
        values: { ':entry': JSON.stringify(closed), ':ttl': expiryOf(`${month}-28`) },
      });
    },
    readPeriods: async (projectId, month) => {
      const partition = partitionOf(projectId, month);
      const bounds = { from: periodKey(month), to: periodKey(month) + LAST };
      const pages = await listOf(table.range({ partition, ...bounds }));
      return pages.flat().map(entryIn<ClosedPeriod>);
    },
    putProgress: async (projectId, { closedDay, foldedAt, settled, summedFrom }) => {
      await table.apply(progressKey(projectId), PUT_PROGRESS, {
        values: {
          ':closedDay': closedDay,
          ':foldedAt': foldedAt,
          ':settled': JSON.stringify(settled),
          ':summedFrom': summedFrom,
        },
      });
    },
  };
};
