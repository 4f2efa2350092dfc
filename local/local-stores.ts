import type { DynamoClient } from '../lambdas/stores/dynamo/dynamo-client.ts';
import { createDynamoProjectStore } from '../lambdas/stores/dynamo/project-store.ts';
import { createDocumentClient, createSdkClient } from '../lambdas/stores/dynamo/sdk-client.ts';
import { createDynamoStores, type Stores } from '../lambdas/stores/dynamo/stores.ts';
import type { ProjectStore } from '../lambdas/stores/project-store.ts';
import { startEmbeddedDynamo } from './embedded-dynamo.ts';
import { createLocalDynamoClient, LOCAL_AWS } from './local-aws.ts';

type AllStores = Stores & { projects: ProjectStore };

export type LocalStores = {
  /** On the router's client. */
  parts: AllStores;
  /** On the admin function's client, which is AWS's SDK. */
  adminParts: AllStores;
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
  const client = createLocalDynamoClient(endpoint, TIMEOUT_MS);
  const requestHandler = { connectionTimeout: TIMEOUT_MS, requestTimeout: TIMEOUT_MS };
  const adminClient = createSdkClient(
    createDocumentClient({ ...LOCAL_AWS, endpoint, requestHandler }),
  );
  const storesOn = (on: DynamoClient): AllStores => ({
    ...createDynamoStores({ client: on, tableNames }),
    projects: createDynamoProjectStore({ client: on, tableName: tableNames.projects }),
  });
  return {
    parts: storesOn(client),
    adminParts: storesOn(adminClient),
    endpoint,
    close: async () => {
      await close();
      client.destroy();
      adminClient.destroy();
    },
  };
};
