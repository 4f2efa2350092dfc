import { createDynamoStores } from '../../lambdas/stores/dynamo/stores.ts';
import { systemClock } from '../../lambdas/support/clock.ts';
import { createDatabaseClient } from '../../local/database/database-client.ts';
import { createMemoryDatabase } from '../../local/database/memory.ts';
import { TABLE_NAMES } from './dynamo.ts';

/** The stores on a database in memory, for tests with thousands of requests. */
export const createMemoryStores = () =>
  createDynamoStores({
    client: createDatabaseClient(createMemoryDatabase(), systemClock),
    tableNames: TABLE_NAMES,
  });
