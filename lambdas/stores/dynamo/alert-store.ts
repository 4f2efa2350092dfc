import { DAY_MS } from '../../support/clock.ts';
import type { AlertStore, ClaimedAlert } from '../alert-store.ts';
import { type Condition, expiring } from './item-write.ts';
import { createTable, type TableOptions } from './table.ts';

/** It changes the state of its subject, or was claimed by the same id before. What is resolved has fired. */
const isDue = ({ state, id }: ClaimedAlert): Condition[][] =>
  state === 'resolved'
    ? [
        [['state', '=', 'firing']],
        [
          ['state', '=', state],
          ['id', '=', id],
        ],
      ]
    : [[['state', 'is absent']], [['state', '<>', state]], [['id', '=', id]]];

/** Longer than the longest period of a plan. */
const LIFE_MS = 60 * DAY_MS;

/** `AlertStore` on the history table: an item for each subject. */
export const createDynamoAlertStore = (options: TableOptions): AlertStore => {
  const table = createTable(options);
  return {
    claim: async (alert, now) => {
      const { subject, state, id } = alert;
      const key = { partition: 'alerts', sort: subject };
      return table.applies(key, {
        set: { state, id, ...expiring(now + LIFE_MS) },
        conditions: [{ anyOf: isDue(alert) }],
      });
    },
  };
};
