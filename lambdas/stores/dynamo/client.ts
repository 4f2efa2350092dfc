import type { Timeouts } from '../../aws/exchange.ts';
import { createJsonService } from '../../aws/json-service.ts';
import { AwsError, type AwsOptions } from '../../aws/signed-client.ts';
import { PARTITION_KEY, SORT_KEY } from '../../tables.ts';
import { type AttributeMap, fromAttributes, toAttribute, toAttributes } from './attributes.ts';
import {
  type DynamoCalls,
  type DynamoClient,
  DynamoError,
  type DynamoOperation,
} from './dynamo-client.ts';
import { expressed } from './item-write.ts';

/** Of one attempt. The table repeats calls (table.ts), because it must know the outcome of each attempt. */
export const DYNAMO_TIMEOUTS: Timeouts = { connectMs: 300, requestMs: 1_000 };

const boundsOf = ({ from, to }: DynamoCalls['Query']['input']): string => {
  if (from === undefined) return '';
  return to === undefined ? ' AND #sk >= :from' : ' AND #sk BETWEEN :from AND :to';
};

type Requests = {
  [Operation in DynamoOperation]: (input: DynamoCalls[Operation]['input']) => object;
};

/** Calls in DynamoDB's words. */
export const REQUESTS: Requests = {
  GetItem: ({ Key, ...rest }) => ({ ...rest, Key: toAttributes(Key) }),
  UpdateItem: ({ TableName, Key, write }) => ({
    ...{ TableName, Key: toAttributes(Key) },
    ...expressed(write, toAttribute),
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  }),
  Query: (query) => {
    const { TableName, ExclusiveStartKey, partition, from, to, index, attribute } = query;
    const bounds = boundsOf(query);
    return {
      ...{ TableName, IndexName: index?.indexName },
      KeyConditionExpression: `#pk = :pk${bounds}`,
      ProjectionExpression: attribute && '#only',
      ExpressionAttributeNames: {
        '#pk': index?.partitionKey ?? PARTITION_KEY,
        ...(bounds !== '' && { '#sk': index?.sortKey ?? SORT_KEY }),
        ...(attribute && { '#only': attribute }),
      },
      ExpressionAttributeValues: toAttributes({ ':pk': partition, ':from': from, ':to': to }),
      ScanIndexForward: !query.isDescending,
      ConsistentRead: index === undefined,
      ExclusiveStartKey: ExclusiveStartKey && toAttributes(ExclusiveStartKey),
      Limit: query.limit,
    };
  },
  Scan: ({ TableName, ExclusiveStartKey }) => ({
    TableName,
    ExclusiveStartKey: ExclusiveStartKey && toAttributes(ExclusiveStartKey),
  }),
};

type Output = { [Name in 'Item' | 'Attributes' | 'LastEvaluatedKey']?: AttributeMap } & {
  Items?: AttributeMap[];
};

/** The types of `DynamoCalls` hold for what DynamoDB sends, so the response is not validated. */
const readOutput = ({ Item, Attributes, LastEvaluatedKey, Items }: Output) => ({
  Item: Item && fromAttributes(Item),
  Attributes: Attributes && fromAttributes(Attributes),
  LastEvaluatedKey: LastEvaluatedKey && fromAttributes(LastEvaluatedKey),
  Items: Items?.map(fromAttributes),
});

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
}: AwsOptions & { timeouts?: Timeouts }): DynamoClient => {
  const service = createJsonService(
    { service: 'dynamodb', targetPrefix: 'DynamoDB_20120810', version: '1.0', timeouts },
    options,
  );
  return {
    call: async (operation, input) => {
      const request = REQUESTS[operation](input);
      try {
        return readOutput(await service.call(operation, request));
      } catch (cause) {
        throw readError(cause);
      }
    },
    clock: options.clock,
    destroy: service.destroy,
  };
};
