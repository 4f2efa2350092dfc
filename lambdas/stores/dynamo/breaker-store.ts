import { DAY_MS } from '../../support/clock.ts';
import { number, object, readIfValid } from '../../support/schema.ts';
import type { BreakerStore } from '../breaker-store.ts';
import { expiring } from './item-write.ts';
import { createTable, type TableOptions } from './table.ts';

const StoredBreaker = object({ openUntil: number, openings: number, version: number });

/** A breaker without a transition for a day is obsolete. */
const LIFE_MS = DAY_MS;

const keyOf = (target: string): string => `B#${target}`;

/** `BreakerStore` on the meters table: like counters, breakers may be lost. */
export const createDynamoBreakerStore = (options: TableOptions): BreakerStore => {
  const table = createTable(options);
  return {
    readBreaker: async (target) => {
      // Kept for 2 s by its reader; transitions and probes are decided by conditions.
      const item = await table.read(keyOf(target), { mayBeStale: true });
      return readIfValid(StoredBreaker, item);
    },
    transitionBreaker: async (target, { openUntil, openings }, seen) => {
      return table.applies(keyOf(target), {
        set: { openUntil, openings, version: seen + 1, ...expiring(openUntil + LIFE_MS) },
        remove: ['probeUntil'],
        conditions: [['version', '= or absent', seen]],
      });
    },
    takeProbe: async (target, now, until) => {
      return table.applies(keyOf(target), {
        // A probe that never reported its outcome is released then.
        set: { probeUntil: until },
        conditions: [
          ['openUntil', '<=', now],
          ['probeUntil', '<= or absent', now],
        ],
      });
    },
  };
};
