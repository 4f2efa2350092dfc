import type { Timeouts } from '../../aws/exchange.ts';
import { createJsonService } from '../../aws/json-service.ts';
import { AwsError, type AwsOptions } from '../../aws/signed-client.ts';
import { PARTITION_KEY, SORT_KEY } from '../../tables.ts';
import {
  type DynamoCalls,
  type DynamoClient,
  DynamoError,
  type DynamoOperation,
  type Item,
} from './dynamo-client.ts';
import { expressed } from './item-write.ts';

/** DynamoDB's form of a value: an object whose only member names the type. */
export type AttributeValue =
  | { S: string }
  | { N: string }
  | { BOOL: boolean }
  | { NULL: true }
  | { L: AttributeValue[] }
  | { M: AttributeMap };
export type AttributeMap = { [name: string]: AttributeValue };

const isPlain = (value: unknown): value is Item =>
  typeof value === 'object' &&
  value !== null &&
  [Object.prototype, null].includes(Object.getPrototypeOf(value));

/** @throws TypeError for a value that no store uses: binary, sets, numbers that are not finite */
const toAttribute = (value: unknown): AttributeValue => {
  if (typeof value === 'string') return { S: value };
  if (typeof value === 'number' && Number.isFinite(value)) return { N: String(value) };
  if (typeof value === 'boolean') return { BOOL: value };
  if (value === null) return { NULL: true };
  if (Array.isArray(value)) return { L: value.filter((one) => one !== undefined).map(toAttribute) };
  if (isPlain(value)) return { M: toAttributes(value) };
  throw new TypeError(`No attribute value for a ${typeof value}.`);
};

/** Members that are undefined are left out. @throws TypeError */
export const toAttributes = (item: Item): AttributeMap => {
  const attributes: AttributeMap = {};
  for (const name in item) {
    const value = item[name];
    if (value !== undefined) attributes[name] = toAttribute(value);
  }
  return attributes;
};

/** @throws TypeError for a type that no store writes */
const fromAttribute = (value: AttributeValue): unknown => {
  if ('S' in value) return value.S;
  if ('N' in value) return Number(value.N);
  if ('BOOL' in value) return value.BOOL;
  if ('NULL' in value) return null;
  if ('L' in value) return value.L.map(fromAttribute);
  if ('M' in value) return readInto({}, value.M);
  throw new TypeError(`No plain value for the attribute type ${Object.keys(value)[0]}.`);
};

const readInto = (item: Item, attributes: AttributeMap): Item => {
  for (const name in attributes) {
    const value = attributes[name];
    if (value !== undefined) item[name] = fromAttribute(value);
  }
  return item;
};

/** A dictionary: V8 would make shapes for the marks of the requests in a meter, whose names occur once. */
export const fromAttributes = (attributes: AttributeMap): Item =>
  readInto(Object.create(null), attributes);

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
