import { listOf } from '../../support/async-lists.ts';
import { DAY_MS, monthsBetween } from '../../support/clock.ts';
import { TTL_ATTRIBUTE } from '../../tables.ts';
import {
  type ClosedPeriod,
  HISTORY_DAYS,
  type HistoryStore,
  type UsageRow,
} from '../history-store.ts';
import type { RouterStores } from '../router-stores.ts';
import {
  type ConditionalWrite,
  createTable,
  type Item,
  type ItemKey,
  type TableOptions,
} from './table.ts';

const PUT_ROW: ConditionalWrite = {
  update: 'SET #entry = :entry, #entries = :entries, #ttl = :ttl',
  condition: 'attribute_not_exists(#entries) OR #entries <= :entries',
};
const PUT_PERIOD: ConditionalWrite = { update: 'SET #entry = :entry, #ttl = :ttl' };
const PUT_PROGRESS: ConditionalWrite = {
  update: 'SET #closedDay = :closedDay, #foldedAt = :foldedAt',
  condition: 'attribute_not_exists(#foldedAt) OR #foldedAt < :foldedAt',
};

const NAMES = {
  '#entry': 'entry',
  '#entries': 'entries',
  '#ttl': TTL_ATTRIBUTE,
  '#closedDay': 'closedDay',
  '#foldedAt': 'foldedAt',
};

/** Project ids have no `|`. */
const partitionOf = (projectId: string, month: string): string => `${projectId}|${month}`;
const monthOf = (label: string): string => label.slice(0, 7);
/** Sort keys: rows of days, and closed periods. The longest text of a day or label ends in `~`. */
const dayKey = (day: string): string => `d|${day}`;
const periodKey = (period: string): string => `p|${period}`;
const LAST = '~';

const progressKey = (projectId: string): ItemKey => ({
  partition: partitionOf(projectId, 'progress'),
  sort: 'folded',
});

/** When what belongs to a UTC day expires, in epoch seconds. */
export const expiryOf = (day: string): number =>
  Math.ceil(Date.parse(day) / 1000) + HISTORY_DAYS * (DAY_MS / 1000);

/** Written by this store only. */
const rowIn = (item: Item): UsageRow => JSON.parse(String(item.entry)) as UsageRow;
const periodIn = (item: Item): ClosedPeriod => JSON.parse(String(item.entry)) as ClosedPeriod;

/** What the router reads of the history. */
export const createDynamoHistoryReader = (options: TableOptions): RouterStores['history'] => {
  const table = createTable(options);
  return {
    readRows: async function* ({ projectId, from, to }) {
      for (const month of monthsBetween(from, to)) {
        const partition = partitionOf(projectId, month);
        const bounds = { from: dayKey(from), to: dayKey(to) + LAST };
        for await (const items of table.range({ partition, ...bounds })) yield items.map(rowIn);
      }
    },
    readProgress: async (projectId) => {
      const item = await table.read(progressKey(projectId));
      return item && { closedDay: String(item.closedDay), foldedAt: Number(item.foldedAt) };
    },
  };
};

/** `HistoryStore` on the history table: a partition is a project's month. */
export const createDynamoHistoryStore = (options: TableOptions): HistoryStore => {
  const table = createTable(options);
  return {
    ...createDynamoHistoryReader(options),
    putRow: async (row, entries) => {
      const { projectId, day, keyId, model } = row;
      const sort = `${dayKey(day)}|${keyId}|${model}`;
      await table.apply({ partition: partitionOf(projectId, monthOf(day)), sort }, PUT_ROW, {
        names: NAMES,
        values: { ':entry': JSON.stringify(row), ':entries': entries, ':ttl': expiryOf(day) },
      });
    },
    putPeriod: async (closed) => {
      const { projectId, meterId, period } = closed;
      const month = monthOf(period);
      const sort = `${periodKey(period)}|${meterId}`;
      await table.apply({ partition: partitionOf(projectId, month), sort }, PUT_PERIOD, {
        names: NAMES,
        values: { ':entry': JSON.stringify(closed), ':ttl': expiryOf(`${month}-28`) },
      });
    },
    readPeriods: async (projectId, month) => {
      const partition = partitionOf(projectId, month);
      const bounds = { from: periodKey(month), to: periodKey(month) + LAST };
      const pages = await listOf(table.range({ partition, ...bounds }));
      return pages.flat().map(periodIn);
    },
    putProgress: async (projectId, { closedDay, foldedAt }) => {
      await table.apply(progressKey(projectId), PUT_PROGRESS, {
        names: NAMES,
        values: { ':closedDay': closedDay, ':foldedAt': foldedAt },
      });
    },
  };
};
