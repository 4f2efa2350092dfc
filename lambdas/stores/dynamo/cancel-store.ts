import { HOUR_MS } from '../../support/clock.ts';
import type { CancelStore } from '../cancel-store.ts';
import { expiring } from './item-write.ts';
import { createTable, type TableOptions } from './table.ts';

const LIFE_MS = HOUR_MS;

const keyOf = (projectId: string): string => `C#${projectId}`;
const REQUEST_ID = /^req_/;

/** `CancelStore` on the meters table: one item per project, with an attribute per request. Both writes may be repeated. */
export const createDynamoCancelStore = (options: TableOptions): CancelStore => {
  const table = createTable(options);
  return {
    addCancel: async (projectId, requestId, now) => {
      const { applied, mayBeDuplicated } = await table.apply(keyOf(projectId), {
        set: { [requestId]: now, ...expiring(now + LIFE_MS) },
        conditions: [[requestId, 'is absent']],
      });
      return applied || mayBeDuplicated;
    },
    removeCancel: async (projectId, requestId) => {
      await table.apply(keyOf(projectId), { remove: [requestId] });
    },
    listCancels: async (projectId) =>
      Object.keys((await table.read(keyOf(projectId))) ?? {}).filter((name) =>
        REQUEST_ID.test(name),
      ),
  };
};
