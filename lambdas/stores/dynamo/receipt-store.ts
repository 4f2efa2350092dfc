import type { ReceiptStore } from '../receipt-store.ts';
import { expiring } from './item-write.ts';
import { createTable, type TableOptions } from './table.ts';

/** Before the number of a place. */
const PREFIX = 'r';

const keyOf = (target: string): string => `R#${target}`;

/** `ReceiptStore` on the meters table: an item per target, with an attribute per place. */
export const createDynamoReceiptStore = (options: TableOptions): ReceiptStore => {
  const table = createTable(options);
  return {
    readReceipts: async (target) => {
      const item = (await table.read(keyOf(target), { mayBeStale: true })) ?? {};
      return Object.entries(item).flatMap(([name, value]): [number, string][] => {
        const place = name.startsWith(PREFIX) ? Number(name.slice(PREFIX.length)) : Number.NaN;
        return Number.isInteger(place) && typeof value === 'string' ? [[place, value]] : [];
      });
    },
    writeReceipts: async (target, receipts, until) => {
      const places = [...receipts].map(([place, receipt]) => [`${PREFIX}${place}`, receipt]);
      const set = { ...expiring(until), ...Object.fromEntries(places) };
      // Safe to repeat: the same receipts are written again.
      await table.apply(keyOf(target), { set, returns: 'NONE' });
    },
  };
};
