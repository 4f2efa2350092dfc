import type { CancelStore } from '../cancel-store.ts';
import { type ConditionalWrite, createTable, type TableOptions } from './table.ts';

/** Both may be repeated. */
const ADD: ConditionalWrite = {
  update: 'SET #request = :now, #ttl = :ttl',
  condition: 'attribute_not_exists(#request)',
};
const REMOVE: ConditionalWrite = { update: 'REMOVE #request' };

const LIFE_SECONDS = 3_600;

const keyOf = (projectId: string): string => `C#${projectId}`;
const REQUEST_ID = /^req_/;

/** `CancelStore` on the meters table: one item per project, with an attribute per request. */
export const createDynamoCancelStore = (options: TableOptions): CancelStore => {
  const table = createTable(options);
  return {
    addCancel: async (projectId, requestId, now) => {
      const { applied, mayBeDuplicated } = await table.apply(keyOf(projectId), ADD, {
        names: { '#request': requestId },
        values: { ':now': now, ':ttl': Math.ceil(now / 1000) + LIFE_SECONDS },
      });
      return applied || mayBeDuplicated;
    },
    removeCancel: async (projectId, requestId) => {
      await table.apply(keyOf(projectId), REMOVE, { names: { '#request': requestId } });
    },
    listCancels: async (projectId) =>
      Object.keys((await table.read(keyOf(projectId))) ?? {}).filter((name) =>
        REQUEST_ID.test(name),
      ),
  };
};
