import { DAY_MS } from '../../support/clock.ts';
import type { AlertStore } from '../alert-store.ts';
import { type ConditionalWrite, createTable, type TableOptions } from './table.ts';

const claim = (condition: string): ConditionalWrite => ({
  update: 'SET #state = :state, #id = :id, #ttl = :ttl',
  condition,
});
const CLAIM = claim('attribute_not_exists(#state) OR #state <> :state OR #id = :id');
const RESOLVE = claim('#state = :firing OR (#state = :state AND #id = :id)');

/** Longer than the longest period of a plan. */
const LIFE_MS = 60 * DAY_MS;

/** `AlertStore` on the history table: an item for each subject. */
export const createDynamoAlertStore = (options: TableOptions): AlertStore => {
  const table = createTable(options);
  return {
    claim: async ({ subject, state, id }, now) => {
      const isResolved = state === 'resolved';
      const values = {
        ...{ ':state': state, ':id': id },
        ':ttl': Math.ceil((now + LIFE_MS) / 1_000),
        ...(isResolved && { ':firing': 'firing' }),
      };
      const key = { partition: 'alerts', sort: subject };
      const write = isResolved ? RESOLVE : CLAIM;
      return (await table.apply(key, write, { values })).applied;
    },
  };
};
