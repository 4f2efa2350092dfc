import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { createDynamoClient } from '../../lambdas/stores/dynamo/client.ts';
import { createDynamoKeyStore } from '../../lambdas/stores/dynamo/key-store.ts';
import { createDynamoMeterStore } from '../../lambdas/stores/dynamo/meter-store.ts';
import { createDynamoPlanStore } from '../../lambdas/stores/dynamo/plan-store.ts';
import type { TableName } from '../../lambdas/tables.ts';
import { startEmbeddedDynamo } from '../../local/embedded-dynamo.ts';
import { LOCAL_AWS } from '../../local/local-aws.ts';

export const TABLE_NAMES: Record<TableName, string> = {
  keys: 'local-keys',
  plans: 'local-plans',
  projects: 'local-projects',
  meters: 'local-meters',
};

/** The three stores on one client. */
export const storesOn = (client: DynamoDBDocumentClient) => ({
  keys: createDynamoKeyStore({ client, tableName: TABLE_NAMES.keys }),
  plans: createDynamoPlanStore({ client, tableName: TABLE_NAMES.plans }),
  meters: createDynamoMeterStore({ client, tableName: TABLE_NAMES.meters }),
});

/** A client whose server has gone: connections are refused, as in an outage. */
export const createUnreachableClient = (): DynamoDBDocumentClient =>
  createDynamoClient({ ...LOCAL_AWS, endpoint: 'http://127.0.0.1:1' });

export type TestDynamo = {
  endpoint: string;
  client: DynamoDBDocumentClient;
  close(): Promise<void>;
};

/** An embedded DynamoDB on loopback with the tables of the house. */
export const startDynamo = async (): Promise<TestDynamo> => {
  const { endpoint, close } = await startEmbeddedDynamo();
  const client = createDynamoClient({
    ...LOCAL_AWS,
    endpoint,
    // A thousand parallel calls queue in one process here: the production second would cut them off.
    requestHandler: { requestTimeout: 30_000 },
  });
  return {
    endpoint,
    client,
    close: async () => {
      await close();
      client.destroy();
    },
  };
};
