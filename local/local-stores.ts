import { createBucket } from '../lambdas/aws/bucket.ts';
import type { DynamoClient } from '../lambdas/stores/dynamo/dynamo-client.ts';
import { createDynamoProjectStore } from '../lambdas/stores/dynamo/project-store.ts';
import { createDocumentClient, createSdkClient } from '../lambdas/stores/dynamo/sdk-client.ts';
import { createDynamoStores, type Stores } from '../lambdas/stores/dynamo/stores.ts';
import type { ProjectStore } from '../lambdas/stores/project-store.ts';
import { createBucketBodies } from '../lambdas/stores/s3/body-store.ts';
import { systemClock } from '../lambdas/support/clock.ts';
import { startEmbeddedBucket } from './embedded-bucket.ts';
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

/** The DynamoDB stores that run on AWS, connected to the embedded DynamoDB and S3. */
export const startLocalStores = async (): Promise<LocalStores> => {
  const [{ endpoint, tableNames, close }, objects] = await Promise.all([
    startEmbeddedDynamo(),
    startEmbeddedBucket(),
  ]);
  const client = createLocalDynamoClient(endpoint, TIMEOUT_MS);
  const bucket = createBucket({
    ...LOCAL_AWS,
    endpoint: objects.endpoint,
    clock: systemClock,
    bucketName: 'local-answers',
    timeouts: { connectMs: TIMEOUT_MS, requestMs: TIMEOUT_MS },
  });
  const bodies = createBucketBodies(bucket);
  const requestHandler = { connectionTimeout: TIMEOUT_MS, requestTimeout: TIMEOUT_MS };
  const adminClient = createSdkClient(
    createDocumentClient({ ...LOCAL_AWS, endpoint, requestHandler }),
    systemClock,
  );
  const storesOn = (on: DynamoClient): AllStores => ({
    ...createDynamoStores({ client: on, tableNames, bodies }),
    projects: createDynamoProjectStore({ client: on, tableName: tableNames.projects }),
  });
  const parts = storesOn(client);
  return {
    parts,
    // The SDK takes twice the CPU of a call, and a fold reads all records.
    adminParts: { ...storesOn(adminClient), records: parts.records },
    endpoint,
    close: async () => {
      await Promise.all([close(), objects.close()]);
      bucket.destroy();
      client.destroy();
      adminClient.destroy();
    },
  };
};
