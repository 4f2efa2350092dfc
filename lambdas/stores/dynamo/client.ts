import { AwsError, createJsonService, type JsonServiceOptions } from '../../aws/json-service.ts';
import type { Timeouts } from '../../aws/post-json.ts';
import { type AttributeMap, fromAttributes, toAttributes } from './attribute-values.ts';
import { type DynamoClient, DynamoError, type Item } from './dynamo-client.ts';

/** Of one attempt. The table repeats calls (table.ts), because it must know the outcome of each attempt. */
export const DYNAMO_TIMEOUTS: Timeouts = { connectMs: 300, requestMs: 1_000 };

export type DynamoClientOptions = JsonServiceOptions & { timeouts?: Timeouts };

/** Members of inputs and outputs that are items. */
const ITEM_MEMBERS = [
  'Key',
  'ExpressionAttributeValues',
  'ExclusiveStartKey',
  'Item',
  'Attributes',
  'LastEvaluatedKey',
];

const withMembers = <From, To>(
  record: Record<string, unknown>,
  change: (member: From) => To,
): Record<string, unknown> => {
  const changed = { ...record };
  for (const name of ITEM_MEMBERS) {
    if (record[name] !== undefined) changed[name] = change(record[name] as From);
  }
  return changed;
};

/** The types of `DynamoCalls` hold for what DynamoDB sends, so the response is not validated. */
const readOutput = (body: Record<string, unknown>) => {
  const output = withMembers<AttributeMap, Item>(body, fromAttributes);
  const { Items } = body;
  return Items ? { ...output, Items: (Items as AttributeMap[]).map(fromAttributes) } : output;
};

const readError = (cause: unknown): unknown => {
  if (!(cause instanceof AwsError)) return cause;
  const { name, status, body } = cause;
  const item = body.Item ? fromAttributes(body.Item as AttributeMap) : undefined;
  return new DynamoError(name, { status, item, cause });
};

/** DynamoDB's JSON protocol without the SDK; the process's only client, its connections are kept alive. */
export const createDynamoClient = ({
  timeouts = DYNAMO_TIMEOUTS,
  ...options
}: DynamoClientOptions): DynamoClient => {
  const service = createJsonService(
    { service: 'dynamodb', targetPrefix: 'DynamoDB_20120810', version: '1.0', timeouts },
    options,
  );
  return {
    call: async (operation, input) => {
      const body = withMembers<Item, AttributeMap>(input, toAttributes);
      try {
        return readOutput(await service.call(operation, body));
      } catch (cause) {
        throw readError(cause);
      }
    },
    destroy: service.destroy,
  };
};
