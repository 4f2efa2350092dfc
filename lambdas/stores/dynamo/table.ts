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
export type Step = { update: string; condition?: string };
export type Bindings = {
  /** `#placeholder` to attribute name. */
  names: Record<string, string>;
  /** `:placeholder` to value. */
  values?: Record<string, unknown>;
};

export type StepResult = {
  /** False when the condition failed: nothing was written. */
  held: boolean;
  /** After the write if it held; before it if not, and then undefined when the server did not say. */
  item: Item | undefined;
  /** The SDK sent the write more than once: an earlier copy may have been applied, or still land. */
  doubtful: boolean;
};

export type Table = {
  /** A strongly consistent read. */
  read(key: string): Promise<Item | undefined>;
  apply(key: string, step: Step, bind: Bindings): Promise<StepResult>;
  query(index: PartitionQuery): Promise<Item[]>;
  scan(): Promise<Item[]>;
};

/** As the SDK types it. */
type Page = { Items?: Item[] | undefined; LastEvaluatedKey?: Item | undefined };

export type PartitionQuery = { indexName: string; partitionKey: string; value: string };

/** DynamoDB refuses names and values that an expression does not use. */
const used = <Value>(
  step: Step,
  bindings: Record<string, Value>,
): Record<string, Value> | undefined => {
  const placeholders = new Set(`${step.update} ${step.condition ?? ''}`.match(/[#:]\w+/g));
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

const applyStep = async (
  client: DynamoDBDocumentClient,
  command: UpdateCommand,
): Promise<StepResult> => {
  try {
    const { Attributes, $metadata } = await client.send(command);
    return { held: true, item: Attributes, doubtful: ($metadata.attempts ?? 1) > 1 };
  } catch (cause) {
    if (!(cause instanceof ConditionalCheckFailedException)) throw unavailable(cause);
    // The document client translates answers but not errors.
    const item = cause.Item && readPlainItem(cause.Item);
    return { held: false, item, doubtful: (cause.$metadata.attempts ?? 1) > 1 };
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
    apply: (key, step, bind) =>
      applyStep(
        client,
        new UpdateCommand({
          TableName: tableName,
          Key: { [PARTITION_KEY]: key },
          UpdateExpression: step.update,
          ConditionExpression: step.condition,
          ExpressionAttributeNames: used(step, bind.names),
          ExpressionAttributeValues: used(step, bind.values ?? {}),
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
