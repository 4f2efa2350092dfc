import type { DynamoClient } from '../../lambdas/stores/dynamo/dynamo-client.ts';
import { createDynamoStores } from '../../lambdas/stores/dynamo/stores.ts';
import { systemClock } from '../../lambdas/support/clock.ts';
import { createDatabaseClient } from '../../local/database/database-client.ts';
import type { ItemDatabase } from '../../local/database/item-database.ts';
import { createMemoryDatabase } from '../../local/database/memory.ts';
import { TABLE_NAMES } from './dynamo.ts';

export type MemoryTables = { client: DynamoClient; close(): Promise<void> };

/** The client of stores on a database, which is closed with it. */
export const tablesOn = (database: ItemDatabase): MemoryTables => {
  const client = createDatabaseClient(database, systemClock);
  return {
    client,
    close: async () => {
      client.destroy();
      await database.close();
    },
  };
};

/** The tables of the house in memory, for tests of no expression of DynamoDB: a call takes a tenth of the CPU. */
export const startMemory = async (): Promise<MemoryTables> => tablesOn(createMemoryDatabase());

/** The stores on a database in memory, for tests with thousands of requests. */
export const createMemoryStores = () =>
  createDynamoStores({
    client: createDatabaseClient(createMemoryDatabase(), systemClock),
    tableNames: TABLE_NAMES,
  });
