import { DAY_MS, MINUTE_MS } from '../../support/clock.ts';
import type { ReachedThreshold, ThresholdStore } from '../threshold-store.ts';
import { type ConditionalWrite, createTable, type TableOptions } from './table.ts';

const CLAIM: ConditionalWrite = {
  update: 'SET #claimedUntil = :until, #ttl = :ttl',
  condition:
    'attribute_not_exists(#isAnnounced) AND (attribute_not_exists(#claimedUntil) OR #claimedUntil <= :now)',
};
const MARK: ConditionalWrite = { update: 'SET #isAnnounced = :true' };

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
      const { applied } = await table.apply(key, CLAIM, {
        values: {
          ':now': now,
          ':until': now + MINUTE_MS,
          ':ttl': Math.ceil((now + LIFE_MS) / 1_000),
        },
      });
      if (applied) return 'claimed';
      return (await table.read(key))?.isAnnounced === true ? 'announced' : 'busy';
    },
    markAnnounced: async (reached) => {
      await table.apply(keyOf(reached), MARK, { values: { ':true': true } });
    },
  };
};
