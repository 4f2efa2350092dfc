import { once } from 'node:events';
import type { Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { CreateTableCommand, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { createDynamoClient } from '../../lambdas/stores/dynamo/client.ts';
import { createDynamoKeyStore } from '../../lambdas/stores/dynamo/key-store.ts';
import { createDynamoMeterStore } from '../../lambdas/stores/dynamo/meter-store.ts';
import { createDynamoPlanStore } from '../../lambdas/stores/dynamo/plan-store.ts';
import { KEYS_BY_PROJECT, PARTITION_KEY, TABLES, type TableName } from '../../lambdas/tables.ts';

// The package has no types of its own.
const dynalite: (options: { createTableMs: number }) => Server = createRequire(import.meta.url)(
  'dynalite',
);

const localConfig = (endpoint: string): DynamoDBClientConfig => ({
  endpoint,
  region: 'local',
  credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
});

const attribute = (AttributeName: string) => ({ AttributeName, AttributeType: 'S' as const });
const { indexName, partitionKey, sortKey } = KEYS_BY_PROJECT;

const createTableCommand = (TableName: TableName) =>
  new CreateTableCommand({
    TableName,
    BillingMode: 'PAY_PER_REQUEST',
    KeySchema: [{ AttributeName: PARTITION_KEY, KeyType: 'HASH' }],
    AttributeDefinitions: [
      attribute(PARTITION_KEY),
      ...(TableName === 'keys' ? [attribute(partitionKey), attribute(sortKey)] : []),
    ],
    ...(TableName === 'keys' && {
      GlobalSecondaryIndexes: [
        {
          IndexName: indexName,
          KeySchema: [
            { AttributeName: partitionKey, KeyType: 'HASH' as const },
            { AttributeName: sortKey, KeyType: 'RANGE' as const },
          ],
          Projection: { ProjectionType: 'ALL' as const },
        },
      ],
    }),
  });

/** The three stores on one client; tables are named like the logical ones. */
export const storesOn = (client: DynamoDBDocumentClient) => ({
  keys: createDynamoKeyStore({ client, tableName: 'keys' }),
  plans: createDynamoPlanStore({ client, tableName: 'plans' }),
  meters: createDynamoMeterStore({ client, tableName: 'meters' }),
});

/** A client whose server has gone: connections are refused, as in an outage. */
export const createUnreachableClient = (): DynamoDBDocumentClient =>
  createDynamoClient(localConfig('http://127.0.0.1:1'));

export type TestDynamo = {
  endpoint: string;
  client: DynamoDBDocumentClient;
  close(): Promise<void>;
};

/** An embedded DynamoDB on loopback with the tables of the house. */
export const startDynamo = async (): Promise<TestDynamo> => {
  const server = dynalite({ createTableMs: 0 });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const endpoint = `http://127.0.0.1:${port}`;
  const client = createDynamoClient({
    ...localConfig(endpoint),
    // A thousand parallel calls queue in one process here: the production second would cut them off.
    requestHandler: { requestTimeout: 30_000 },
  });
  for (const table of TABLES) await client.send(createTableCommand(table));
  return {
    endpoint,
    client,
    close: async () => {
      client.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};
