import { dayOf, monthsBetween } from '../../support/clock.ts';
import { firstAuditIdAt } from '../../support/ids.ts';
import type { AuditEntry, AuditStore } from '../audit-store.ts';
import { expiryOf } from './history-store.ts';
import type { Condition } from './item-write.ts';
import { createTable, entryOf, type TableOptions } from './table.ts';

/** No project id begins with `#`. */
const partitionOf = (month: string): string => `#audit|${month}`;

/** `AuditStore` on the history table: a partition is a month, and ids sort by time. */
export const createDynamoAuditStore = (options: TableOptions): AuditStore => {
  const table = createTable(options);
  return {
    putEntry: async (entry) => {
      const day = dayOf(entry.changedAt);
      const key = { partition: partitionOf(day.slice(0, 7)), sort: entry.id };
      // A late copy of the entry before a change leaves the one after it.
      const conditions: Condition[] = entry.outcome === 'unknown' ? [['entry', 'is absent']] : [];
      await table.apply(key, {
        set: { entry: JSON.stringify(entry), ...expiryOf(day) },
        conditions,
      });
    },
    listEntries: async function* ({ from, to, before }) {
      const first = firstAuditIdAt(from);
      const end = firstAuditIdAt(to);
      const last = before !== undefined && before < end ? before : end;
      if (last < first) return;
      for (const month of monthsBetween(dayOf(from), dayOf(to)).toReversed()) {
        const range = { partition: partitionOf(month), from: first, to: last, isDescending: true };
        for await (const items of table.range(range)) {
          yield* items.map(entryOf<AuditEntry>).filter(({ id }) => id !== last);
        }
      }
    },
  };
};
