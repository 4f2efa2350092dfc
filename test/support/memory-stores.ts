import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import {
  type DynamoCalls,
  type DynamoClient,
  DynamoError,
} from '../../lambdas/stores/dynamo/dynamo-client.ts';
import { createDynamoStores } from '../../lambdas/stores/dynamo/stores.ts';
import { systemClock } from '../../lambdas/support/clock.ts';
import { createMemoryTable, type MemoryTable } from '../simulation/memory-table.ts';
import { TABLE_NAMES } from './dynamo.ts';

/**
 * The DynamoDB stores on tables in memory that evaluate the very expressions which production sends, for tests with
 * thousands of requests. What they do not know (queries, scans) throws.
 */
export const createMemoryStores = () => {
  const tables = new Map<string, MemoryTable>();
  const tableOf = (name: string): MemoryTable => {
    const table = tables.get(name) ?? createMemoryTable();
    tables.set(name, table);
    return table;
  };

  const get = ({ TableName, Key }: DynamoCalls['GetItem']['input']) => {
    const item = tableOf(TableName).get(String(Key.pk));
    return item ? { Item: { ...item, ...Key } } : {};
  };

  const update = (input: DynamoCalls['UpdateItem']['input']) => {
    const { held, item } = tableOf(input.TableName).update(input);
    const attributes = item && { ...item, ...input.Key };
    if (held) return { Attributes: attributes };
    const cause = new ConditionalCheckFailedException({ $metadata: {}, message: 'not held' });
    throw new DynamoError(cause.name, { status: 400, item: attributes, cause });
  };

  const client: DynamoClient = {
    call: async (operation, input) => {
      await Promise.resolve();
      if (operation === 'GetItem') return get(input as DynamoCalls['GetItem']['input']);
      if (operation === 'UpdateItem') return update(input as DynamoCalls['UpdateItem']['input']);
      throw new Error(`Not in memory: ${operation}`);
    },
    clock: systemClock,
    destroy: () => undefined,
  };
  return createDynamoStores({ client, tableNames: TABLE_NAMES });
};
