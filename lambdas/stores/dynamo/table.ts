import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import {
  type DynamoDBDocumentClient,
  GetCommand,
  QueryCommand,
  ScanCommand,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb';
import { PARTITION_KEY } from '../../tables.ts';
import { StoreUnavailable } from '../store-unavailable.ts';
import { readPlainItem } from './plain-item.ts';

export type Item = Record<string, unknown>;

/** One conditional write: expressions are constants, `bind` says what their placeholders stand for. */
export type ConditionalWrite = { update: string; condition?: string };
export type Bindings = {
  /** `#placeholder` to attribute name. */
  names: Record<string, string>;
  /** `:placeholder` to value. */
  values?: Record<string, unknown>;
};

export type WriteResult = {
  /** False when the condition failed: nothing was written. */
  applied: boolean;
  /** After the write if it was applied; before it if not, and then undefined when the server did not say. */
  item: Item | undefined;
  /** The SDK sent the write more than once: an earlier copy may have been applied, or still land. */
  doubtful: boolean;
};

export type Table = {
  /** A strongly consistent read. */
  read(key: string): Promise<Item | undefined>;
  apply(key: string, write: ConditionalWrite, bind: Bindings): Promise<WriteResult>;
  query(index: PartitionQuery): Promise<Item[]>;
  scan(): Promise<Item[]>;
};

/** As the SDK types it. */
type Page = { Items?: Item[] | undefined; LastEvaluatedKey?: Item | undefined };

export type PartitionQuery = { indexName: string; partitionKey: string; value: string };

/** DynamoDB refuses names and values that an expression does not use. */
const used = <Value>(
  write: ConditionalWrite,
  bindings: Record<string, Value>,
): Record<string, Value> | undefined => {
  const placeholders = new Set(`${write.update} ${write.condition ?? ''}`.match(/[#:]\w+/g));
  const entries = Object.entries(bindings).filter(([name]) => placeholders.has(name));
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
};

/** Everything that the SDK throws, as the one failure the rest of the code knows. */
const unavailable = (cause: unknown): StoreUnavailable =>
  new StoreUnavailable('The table did not answer.', { cause });

const send = async <Output>(request: () => Promise<Output>): Promise<Output> => {
  try {
    return await request();
  } catch (cause) {
    throw unavailable(cause);
  }
};

const applyWrite = async (
  client: DynamoDBDocumentClient,
  command: UpdateCommand,
): Promise<WriteResult> => {
  try {
    const { Attributes, $metadata } = await client.send(command);
    return { applied: true, item: Attributes, doubtful: ($metadata.attempts ?? 1) > 1 };
  } catch (cause) {
    if (!(cause instanceof ConditionalCheckFailedException)) throw unavailable(cause);
    // The document client translates answers but not errors.
    const item = cause.Item && readPlainItem(cause.Item);
    return { applied: false, item, doubtful: (cause.$metadata.attempts ?? 1) > 1 };
  }
};

/** The wall to the AWS SDK: verbs on one table. @throws StoreUnavailable */
export const createTable = ({
  client,
  tableName,
}: {
  client: DynamoDBDocumentClient;
  tableName: string;
}): Table => {
  const allPages = async (page: (from: Item | undefined) => Promise<Page>): Promise<Item[]> => {
    const items: Item[] = [];
    let from: Item | undefined;
    do {
      const { Items = [], LastEvaluatedKey } = await send(() => page(from));
      items.push(...Items);
      from = LastEvaluatedKey;
    } while (from);
    return items;
  };
  return {
    read: async (key) => {
      const command = new GetCommand({
        TableName: tableName,
        Key: { [PARTITION_KEY]: key },
        ConsistentRead: true,
      });
      return (await send(() => client.send(command))).Item;
    },
    apply: (key, write, bind) =>
      applyWrite(
        client,
        new UpdateCommand({
          TableName: tableName,
          Key: { [PARTITION_KEY]: key },
          UpdateExpression: write.update,
          ConditionExpression: write.condition,
          ExpressionAttributeNames: used(write, bind.names),
          ExpressionAttributeValues: used(write, bind.values ?? {}),
          ReturnValues: 'ALL_NEW',
          ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
        }),
      ),
    query: ({ indexName, partitionKey, value }) =>
      allPages((from) =>
        client.send(
          new QueryCommand({
            TableName: tableName,
            IndexName: indexName,
            KeyConditionExpression: '#key = :value',
            ExpressionAttributeNames: { '#key': partitionKey },
            ExpressionAttributeValues: { ':value': value },
            ExclusiveStartKey: from,
          }),
        ),
      ),
    scan: () =>
      allPages((from) =>
        client.send(new ScanCommand({ TableName: tableName, ExclusiveStartKey: from })),
      ),
  };
};
