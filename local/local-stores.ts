import type { BodyStore } from '../lambdas/stores/answer-store.ts';
import type { DynamoClient } from '../lambdas/stores/dynamo/dynamo-client.ts';
import { expiring } from '../lambdas/stores/dynamo/item-write.ts';
import { createDynamoProjectStore } from '../lambdas/stores/dynamo/project-store.ts';
import { createDynamoStores, openDynamoResponses } from '../lambdas/stores/dynamo/stores.ts';
import type { ProjectStore } from '../lambdas/stores/project-store.ts';
import type { Stores } from '../lambdas/stores/router-stores.ts';
import { type Clock, DAY_MS } from '../lambdas/support/clock.ts';
import { PARTITION_KEY, TABLES, type TableName, TTL_ATTRIBUTE } from '../lambdas/tables.ts';
import { createDatabaseClient } from './database/database-client.ts';
import type { ItemDatabase } from './database/item-database.ts';
import { createMemoryDatabase } from './database/memory.ts';
import { createUnsettledStore, type UnsettledStore } from './unsettled-days.ts';

type AllStores = Stores & { projects: ProjectStore };

export type LocalStores = {
  parts: AllStores;
  unsettled: UnsettledStore;
  close(): Promise<void>;
};

export const TABLE_NAMES = Object.fromEntries(TABLES.map((name) => [name, name])) as Record<
  TableName,
  string
>;

export const storesOn = (client: DynamoClient, bodies: BodyStore): AllStores => ({
  ...createDynamoStores({ client, tableNames: TABLE_NAMES, bodies }),
  openResponses: openDynamoResponses({ client, tableNames: TABLE_NAMES, bodies }),
  projects: createDynamoProjectStore({ client, tableName: TABLE_NAMES.projects }),
});

const BODIES = 'bodies';
/** Of responses, which are kept for a day at most. */
const BODY_LIFE_MS = 2 * DAY_MS;

/** Bodies above the size of a DynamoDB item, in the database: its items have no largest size. */
const createBodies = (database: ItemDatabase, clock: Clock): BodyStore => ({
  put: async (name, body, expiresAt = clock.now() + BODY_LIFE_MS) => {
    const item = {
      [PARTITION_KEY]: name,
      content: Buffer.from(body).toString('base64'),
      ...expiring(expiresAt),
    };
    await database.change(BODIES, { partition: name, sort: '' }, () => item);
  },
  get: async (name) => {
    const item = await database.read(BODIES, { partition: name, sort: '' });
    return item?.content === undefined ? undefined : Buffer.from(String(item.content), 'base64');
  },
  remove: async (name) => {
    const expired = { [PARTITION_KEY]: name, [TTL_ATTRIBUTE]: 1 };
    await database.change(BODIES, { partition: name, sort: '' }, (item) => item && expired);
  },
});

/** The stores that run on AWS, on a database of this process. */
export const openStores = (
  clock: Clock,
  database: ItemDatabase = createMemoryDatabase(),
): LocalStores => {
  const client = createDatabaseClient(database, clock);
  return {
    parts: storesOn(client, createBodies(database, clock)),
    unsettled: createUnsettledStore(database, clock),
    close: async () => {
      client.destroy();
      await database.close();
    },
  };
};
