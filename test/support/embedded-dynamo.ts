import type { Server, ServerResponse } from 'node:http';
import {
  CreateTableCommand,
  type CreateTableCommandInput,
  DescribeTableCommand,
  DynamoDBClient,
} from '@aws-sdk/client-dynamodb';
import dynalite from 'dynalite';
import {
  KEYS_BY_PROJECT,
  PARTITION_KEY,
  SORT_KEY,
  SORTED_TABLES,
  TABLES,
  type TableName,
} from '../../lambdas/tables.ts';
import { TABLE_NAMES } from '../../local/local-stores.ts';
import { listen } from '../../local/loopback.ts';
import { LOCAL_AWS } from './local-aws.ts';

export type EmbeddedDynamo = {
  endpoint: string;
  tableNames: Record<TableName, string>;
  close(): Promise<void>;
};

/** Polls without a pause: the SDK's waiter waits at least 1 s; these tables need a few ms. */
const untilActive = async (client: DynamoDBClient, TableName: string): Promise<void> => {
  const { Table } = await client.send(new DescribeTableCommand({ TableName }));
  if (Table?.TableStatus !== 'ACTIVE') await untilActive(client, TableName);
};

const attribute = (AttributeName: string) => ({ AttributeName, AttributeType: 'S' as const });
const hashKey = (AttributeName: string) => ({ AttributeName, KeyType: 'HASH' as const });
const rangeKey = (AttributeName: string) => ({ AttributeName, KeyType: 'RANGE' as const });

const keysOf = (table: TableName): string[] =>
  SORTED_TABLES.includes(table) ? [PARTITION_KEY, SORT_KEY] : [PARTITION_KEY];

const { indexName, partitionKey, sortKey } = KEYS_BY_PROJECT;

/** Secondary indexes and their attributes, by table. */
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

/**
 * Creates the stack's tables in the DynamoDB at `endpoint`.
 * @throws ResourceInUseException if a table already exists
 */
export const createTables = async (endpoint: string): Promise<void> => {
  const client = new DynamoDBClient({ ...LOCAL_AWS, endpoint });
  const create = async (table: TableName) => {
    const TableName = TABLE_NAMES[table];
    await client.send(
      new CreateTableCommand({
        TableName,
        BillingMode: 'PAY_PER_REQUEST',
        AttributeDefinitions: keysOf(table).map(attribute),
        KeySchema: [hashKey(PARTITION_KEY), ...keysOf(table).slice(1).map(rangeKey)],
        ...INDEXES[table],
      }),
    );
    await untilActive(client, TableName);
  };
  await Promise.all(TABLES.map(create));
  client.destroy();
};

/** Tracks open requests. The returned function resolves when none is in flight. */
const trackRequests = (server: Server): (() => Promise<void>) => {
  const open = new Set<Promise<unknown>>();
  server.on('request', (_, response: ServerResponse) => {
    const closed = new Promise((resolve) => response.once('close', resolve));
    open.add(closed);
    closed.then(() => open.delete(closed));
  });
  return async () => {
    while (open.size > 0) await Promise.all(open);
  };
};

/** Starts an in-memory DynamoDB on loopback with the stack's tables, all empty. */
export const startEmbeddedDynamo = async (): Promise<EmbeddedDynamo> => {
  // The default of 500 ms imitates AWS and would only delay the start.
  const server = dynalite({ createTableMs: 0 });
  const untilIdle = trackRequests(server);
  const { url, close } = await listen(server);
  await createTables(url);
  return {
    endpoint: url,
    tableNames: TABLE_NAMES,
    close: async () => {
      // A write to a closed database would throw an uncaught exception in dynalite.
      await untilIdle();
      await close();
    },
  };
};
