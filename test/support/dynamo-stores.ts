import { createBucket } from '../../lambdas/aws/bucket.ts';
import defaultModels from '../../lambdas/catalog/models.json' with { type: 'json' };
import { parseModels } from '../../lambdas/catalog/parse-models.ts';
import { createBucketBodies } from '../../lambdas/stores/s3/body-store.ts';
import { systemClock } from '../../lambdas/support/clock.ts';
import { createReadSecret } from '../../lambdas/upstreams/read-secret.ts';
import { createMemoryDatabase } from '../../local/database/memory.ts';
import { localCredentials } from '../../local/local-catalog.ts';
import { type LocalStores, storesOn } from '../../local/local-stores.ts';
import { type LocalOptions, type LocalRouter, startLocal } from '../../local/start.ts';
import { createUnsettledStore } from '../../local/unsettled-days.ts';
import { startEmbeddedBucket } from './embedded-bucket.ts';
import { startEmbeddedDynamo } from './embedded-dynamo.ts';
import { startEmbeddedSecrets } from './embedded-secrets.ts';
import { createLocalDynamoClient, LOCAL_AWS } from './local-aws.ts';
import { UPSTREAM_SECRET } from './local-upstream.ts';

/**
 * Database, router, upstream and often the caller share one process here. With the 1 s timeout used
 * on AWS, 196 of 200 parallel requests timed out while waiting for the event loop.
 */
const TIMEOUT_MS = 30_000;

type Servers = { endpoint: string; objects: string };

/** What a process has of the stores that run on AWS. */
const connectStores = ({ endpoint, objects }: Servers): LocalStores => {
  const client = createLocalDynamoClient(endpoint, TIMEOUT_MS);
  const bucket = createBucket({
    ...LOCAL_AWS,
    endpoint: objects,
    clock: systemClock,
    bucketName: 'local-answers',
    timeouts: { connectMs: TIMEOUT_MS, requestMs: TIMEOUT_MS },
  });
  const bodies = createBucketBodies(bucket);
  return {
    parts: storesOn(client, bodies),
    unsettled: createUnsettledStore(createMemoryDatabase(), systemClock),
    close: async () => {
      bucket.destroy();
      client.destroy();
    },
  };
};

/** The same on an embedded DynamoDB and S3, which other processes reach too. */
export const startDynamoStores = async () => {
  const [{ endpoint, close }, objects] = await Promise.all([
    startEmbeddedDynamo(),
    startEmbeddedBucket(),
  ]);
  const connect = () => connectStores({ endpoint, objects: objects.endpoint });
  const stores = connect();
  return {
    ...stores,
    endpoint,
    /** As another process does. */
    connect,
    close: async () => {
      await Promise.all([close(), objects.close()]);
      await stores.close();
    },
  };
};

export type DynamoRouter = LocalRouter & { endpoints: { dynamo: string; secrets: string } };

/** The local router on an embedded DynamoDB and Secrets Manager, for tests that reach them from outside. */
export const startOnDynamo = async (
  options: LocalOptions = {},
  start: (options: LocalOptions) => Promise<LocalRouter> = startLocal,
): Promise<DynamoRouter> => {
  const { catalog = parseModels(defaultModels), secrets = localCredentials(catalog) } = options;
  const [stores, manager] = await Promise.all([
    startDynamoStores(),
    startEmbeddedSecrets({ [UPSTREAM_SECRET]: JSON.stringify(secrets) }),
  ]);
  const { endpoint } = manager;
  const readSecret = createReadSecret({ ...LOCAL_AWS, endpoint, clock: systemClock });
  const router = await start({ ...options, stores, readSecret });
  return {
    ...router,
    endpoints: { dynamo: stores.endpoint, secrets: endpoint },
    close: async () => {
      await router.close();
      await manager.close();
    },
  };
};
