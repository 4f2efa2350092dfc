import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { createDynamoAuditStore } from '../../lambdas/stores/dynamo/audit-store.ts';
import { createDynamoBudgetStore } from '../../lambdas/stores/dynamo/budgets/budget-store.ts';
import type { DynamoClient } from '../../lambdas/stores/dynamo/dynamo-client.ts';
import { createDynamoHistoryStore } from '../../lambdas/stores/dynamo/history-store.ts';
import { createDynamoKeyStore } from '../../lambdas/stores/dynamo/key-store.ts';
import { createDynamoMeterStore } from '../../lambdas/stores/dynamo/meter-store.ts';
import { createDynamoNotes } from '../../lambdas/stores/dynamo/notes.ts';
import { createDynamoPlanStore } from '../../lambdas/stores/dynamo/plan-store.ts';
import { createDynamoRecordStore } from '../../lambdas/stores/dynamo/record-store.ts';
import { createDynamoWebhookStore } from '../../lambdas/stores/dynamo/webhook-store.ts';
import { TABLE_NAMES } from '../../local/local-stores.ts';
import { startEmbeddedDynamo } from './embedded-dynamo.ts';
import { createLocalDynamoClient, LOCAL_AWS } from './local-aws.ts';
import { createDocumentClient } from './sdk-client.ts';

export { TABLE_NAMES };

/** The three stores on one client. */
export const storesOn = (client: DynamoClient) => ({
  keys: createDynamoKeyStore({ client, tableName: TABLE_NAMES.keys }),
  plans: createDynamoPlanStore({ client, tableName: TABLE_NAMES.plans }),
  meters: createDynamoMeterStore({ client, tableName: TABLE_NAMES.meters }),
  budgets: createDynamoBudgetStore({ client, tableName: TABLE_NAMES.meters }),
  breakers: createDynamoNotes({ client, tableName: TABLE_NAMES.meters }).breakers,
  audit: createDynamoAuditStore({ client, tableName: TABLE_NAMES.history }),
  history: createDynamoHistoryStore({ client, tableName: TABLE_NAMES.history }),
  records: createDynamoRecordStore({ client, tableName: TABLE_NAMES.records }),
  openWebhooks: () => createDynamoWebhookStore({ client, ...TABLE_NAMES }),
});

/** A client whose server has gone: connections are refused, as in an outage. */
export const createUnreachableClient = (): DynamoClient =>
  createLocalDynamoClient('http://127.0.0.1:1');

export type TestDynamo = {
  endpoint: string;
  /** The router's client. */
  client: DynamoClient;
  /** AWS's SDK on the same tables. */
  sdk: DynamoDBDocumentClient;
  close(): Promise<void>;
};

/** A thousand parallel calls queue in one process here: the production second would cut them off. */
const TIMEOUT_MS = 30_000;

/** Both clients of one DynamoDB. */
export const connectBoth = (
  endpoint: string,
  stop: () => Promise<void> = async () => undefined,
): Omit<TestDynamo, 'endpoint'> => {
  const client = createLocalDynamoClient(endpoint, TIMEOUT_MS);
  const sdk = createDocumentClient({
    ...LOCAL_AWS,
    endpoint,
    requestHandler: { requestTimeout: TIMEOUT_MS },
  });
  const close = async () => {
    await stop();
    client.destroy();
    sdk.destroy();
  };
  return { client, sdk, close };
};

/** An embedded DynamoDB on loopback with the tables of the house. */
export const startDynamo = async (): Promise<TestDynamo> => {
  const { endpoint, close } = await startEmbeddedDynamo();
  return { endpoint, ...connectBoth(endpoint, close) };
};
