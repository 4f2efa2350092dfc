import { createDynamoClient } from '../lambdas/stores/dynamo/client.ts';
import { createDynamoKeyStore } from '../lambdas/stores/dynamo/key-store.ts';
import { createDynamoMeterStore } from '../lambdas/stores/dynamo/meter-store.ts';
import { createDynamoPlanStore } from '../lambdas/stores/dynamo/plan-store.ts';
import type { KeyStore } from '../lambdas/stores/key-store.ts';
import type { MeterStore } from '../lambdas/stores/meter-store.ts';
import type { PlanStore } from '../lambdas/stores/plan-store.ts';
import { startEmbeddedDynamo } from './embedded-dynamo.ts';
import { LOCAL_AWS } from './local-aws.ts';

export type LocalStores = {
  parts: { keys: KeyStore; plans: PlanStore; meters: MeterStore };
  endpoint: string;
  close(): Promise<void>;
};

/**
 * Table, router, upstream and often the caller share one process here: with the second that AWS is given,
 * 196 of 200 parallel requests were cut off while they waited for their turn.
 */
const PATIENCE_MS = 30_000;

/** The DynamoDB stores of AWS on the embedded DynamoDB. */
export const startLocalStores = async (): Promise<LocalStores> => {
  const { endpoint, tableNames, close } = await startEmbeddedDynamo();
  const client = createDynamoClient({
    ...LOCAL_AWS,
    endpoint,
    requestHandler: { connectionTimeout: PATIENCE_MS, requestTimeout: PATIENCE_MS },
  });
  return {
    parts: {
      keys: createDynamoKeyStore({ client, tableName: tableNames.keys }),
      plans: createDynamoPlanStore({ client, tableName: tableNames.plans }),
      meters: createDynamoMeterStore({ client, tableName: tableNames.meters }),
    },
    endpoint,
    close: async () => {
      client.destroy();
      await close();
    },
  };
};
