import { createDynamoClient } from '../lambdas/stores/dynamo/client.ts';
import { createDynamoProjectStore } from '../lambdas/stores/dynamo/project-store.ts';
import { createDynamoStores, type Stores } from '../lambdas/stores/dynamo/stores.ts';
import type { ProjectStore } from '../lambdas/stores/project-store.ts';
import { startEmbeddedDynamo } from './embedded-dynamo.ts';
import { LOCAL_AWS } from './local-aws.ts';

export type LocalStores = {
  parts: Stores & { projects: ProjectStore };
  endpoint: string;
  close(): Promise<void>;
};

/**
 * Database, router, upstream and often the caller share one process here. With the 1 s timeout used
 * on AWS, 196 of 200 parallel requests timed out while waiting for the event loop.
 */
const TIMEOUT_MS = 30_000;

/** The DynamoDB stores that run on AWS, connected to the embedded DynamoDB. */
export const startLocalStores = async (): Promise<LocalStores> => {
  const { endpoint, tableNames, close } = await startEmbeddedDynamo();
  const client = createDynamoClient({
    ...LOCAL_AWS,
    endpoint,
    requestHandler: { connectionTimeout: TIMEOUT_MS, requestTimeout: TIMEOUT_MS },
  });
  return {
    parts: {
      ...createDynamoStores({ client, tableNames }),
      projects: createDynamoProjectStore({ client, tableName: tableNames.projects }),
    },
    endpoint,
    close: async () => {
      await close();
      client.destroy();
    },
  };
};
