import { DAY_MS, MINUTE_MS } from '../../support/clock.ts';
import type { ReachedThreshold, ThresholdStore } from '../threshold-store.ts';
import { expiring } from './item-write.ts';
import { createTable, type TableOptions } from './table.ts';

/** Longer than the longest period. */
const LIFE_MS = 40 * DAY_MS;

const keyOf = ({ meterId, period, quota, threshold }: ReachedThreshold): string =>
  `T#${meterId}|${period}|${quota}|${threshold}`;

/** `ThresholdStore` on the meters table: an item per threshold that was reached. */
export const createDynamoThresholdStore = (options: TableOptions): ThresholdStore => {
  const table = createTable(options);
  return {
    claim: async (reached, now) => {
      const key = keyOf(reached);
      const { applied } = await table.apply(key, {
        set: { claimedUntil: now + MINUTE_MS, ...expiring(now + LIFE_MS) },
        conditions: [
          ['isAnnounced', 'is absent'],
          ['claimedUntil', '<= or absent', now],
        ],
      });
      if (applied) return 'claimed';
      return (await table.read(key))?.isAnnounced === true ? 'announced' : 'busy';
    },
    markAnnounced: async (reached) => {
      await table.apply(keyOf(reached), { set: { isAnnounced: true } });
    },
  };
};
