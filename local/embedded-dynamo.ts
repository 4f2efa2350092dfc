import type { Server, ServerResponse } from 'node:http';
import {
  CreateTableCommand,
  type CreateTableCommandInput,
  DescribeTableCommand,
  DynamoDBClient,
} from '@aws-sdk/client-dynamodb';
import dynalite from 'dynalite';
import { KEYS_BY_PROJECT, PARTITION_KEY, TABLES, type TableName } from '../lambdas/tables.ts';
import { LOCAL_AWS } from './local-aws.ts';
import { listen } from './loopback.ts';

export type EmbeddedDynamo = {
  endpoint: string;
  tableNames: Record<TableName, string>;
  close(): Promise<void>;
};

const tableNames: Record<TableName, string> = {
  keys: 'local-keys',
  plans: 'local-plans',
  projects: 'local-projects',
  meters: 'local-meters',
};

/** The SDK's own waiter pauses for a second at least; these tables are ready within a few ms. */
const untilActive = async (client: DynamoDBClient, TableName: string): Promise<void> => {
  const { Table } = await client.send(new DescribeTableCommand({ TableName }));
  if (Table?.TableStatus !== 'ACTIVE') await untilActive(client, TableName);
};

const attribute = (AttributeName: string) => ({ AttributeName, AttributeType: 'S' as const });
const hashKey = (AttributeName: string) => ({ AttributeName, KeyType: 'HASH' as const });
const rangeKey = (AttributeName: string) => ({ AttributeName, KeyType: 'RANGE' as const });

const { indexName, partitionKey, sortKey } = KEYS_BY_PROJECT;

/** What a table has besides its partition key. */
const INDEXES: Partial<Record<TableName, Partial<CreateTableCommandInput>>> = {
  keys: {
    AttributeDefinitions: [PARTITION_KEY, partitionKey, sortKey].map(attribute),
    GlobalSecondaryIndexes: [
      {
        IndexName: indexName,
        KeySchema: [hashKey(partitionKey), rangeKey(sortKey)],
        Projection: { ProjectionType: 'ALL' },
      },
    ],
  },
};

/** The tables of the stack at any DynamoDB. @throws ResourceInUseException if one is there already */
export const createTables = async (endpoint: string): Promise<void> => {
  const client = new DynamoDBClient({ ...LOCAL_AWS, endpoint });
  const create = async (table: TableName) => {
    const TableName = tableNames[table];
    await client.send(
      new CreateTableCommand({
        TableName,
        BillingMode: 'PAY_PER_REQUEST',
        AttributeDefinitions: [attribute(PARTITION_KEY)],
        KeySchema: [hashKey(PARTITION_KEY)],
        ...INDEXES[table],
      }),
    );
    await untilActive(client, TableName);
  };
  await Promise.all(TABLES.map(create));
  client.destroy();
};

/** A promise, whenever it is asked for, that no request is being answered. */
const followAnswers = (server: Server): (() => Promise<void>) => {
  const open = new Set<Promise<unknown>>();
  server.on('request', (_, response: ServerResponse) => {
    const answered = new Promise((resolve) => response.once('close', resolve));
    open.add(answered);
    answered.then(() => open.delete(answered));
  });
  return async () => {
    while (open.size > 0) await Promise.all(open);
  };
};

/** An in-memory DynamoDB on loopback with the tables of the stack, all empty. */
export const startEmbeddedDynamo = async (): Promise<EmbeddedDynamo> => {
  // The default of 500 ms imitates AWS; nobody waits for that here.
  const server = dynalite({ createTableMs: 0 });
  const allAnswered = followAnswers(server);
  const { url, close } = await listen(server);
  await createTables(url);
  return {
    endpoint: url,
    tableNames,
    close: async () => {
      // A write that meets its database closed would throw where nobody catches it.
      await allAnswered();
      await close();
    },
  };
};
