import {
  type AttributeValue,
  ConditionalCheckFailedException,
  DynamoDBClient,
  type DynamoDBClientConfig,
  DynamoDBServiceException,
} from '@aws-sdk/client-dynamodb';
import {
  DynamoDBDocumentClient,
  GetCommand,
  type GetCommandInput,
  QueryCommand,
  type QueryCommandInput,
  ScanCommand,
  type ScanCommandInput,
  UpdateCommand,
  type UpdateCommandInput,
} from '@aws-sdk/lib-dynamodb';
import {
  type AttributeMap,
  DYNAMO_TIMEOUTS,
  fromAttributes,
  REQUESTS,
} from '../../lambdas/stores/dynamo/client.ts';
import {
  type DynamoCalls,
  type DynamoClient,
  DynamoError,
  type DynamoOperation,
} from '../../lambdas/stores/dynamo/dynamo-client.ts';
import type { Clock } from '../../lambdas/support/clock.ts';

/**
 * Creates a client of AWS's SDK with the same timeouts and attempts as client.ts. Region, endpoint and credentials
 * default to the standard environment variables.
 */
export const createDocumentClient = (options: DynamoDBClientConfig = {}): DynamoDBDocumentClient =>
  DynamoDBDocumentClient.from(
    new DynamoDBClient({
      // The table repeats calls itself (table.ts), because it must know the outcome of each attempt.
      maxAttempts: 1,
      requestHandler: {
        connectionTimeout: DYNAMO_TIMEOUTS.connectMs,
        requestTimeout: DYNAMO_TIMEOUTS.requestMs,
        // Without this the SDK only logs a warning and keeps waiting.
        throwOnRequestTimeout: true,
      },
      ...options,
    }),
    { marshallOptions: { removeUndefinedValues: true } },
  );

type Send = {
  [Operation in DynamoOperation]: (
    client: DynamoDBDocumentClient,
    input: DynamoCalls[Operation]['input'],
  ) => Promise<DynamoCalls[Operation]['output']>;
};

const BAGS = ['Key', 'ExpressionAttributeValues', 'ExclusiveStartKey'];

/** The SDK gives values their form again. */
const plain = (request: object): object =>
  Object.fromEntries(
    Object.entries(request).map(([name, member]) =>
      BAGS.includes(name) && member ? [name, fromAttributes(member)] : [name, member],
    ),
  );

const SEND: Send = {
  GetItem: (client, input) =>
    client.send(new GetCommand(plain(REQUESTS.GetItem(input)) as GetCommandInput)),
  UpdateItem: (client, input) =>
    client.send(new UpdateCommand(plain(REQUESTS.UpdateItem(input)) as UpdateCommandInput)),
  Query: (client, input) =>
    client.send(new QueryCommand(plain(REQUESTS.Query(input)) as QueryCommandInput)),
  Scan: (client, input) =>
    client.send(new ScanCommand(plain(REQUESTS.Scan(input)) as ScanCommandInput)),
};

/** The document client unmarshalls responses but not errors. */
const itemOf = (cause: unknown): Record<string, AttributeValue> | undefined =>
  cause instanceof ConditionalCheckFailedException ? cause.Item : undefined;

const readError = (cause: unknown): unknown => {
  if (!(cause instanceof DynamoDBServiceException)) return cause;
  const item = itemOf(cause);
  return new DynamoError(cause.name, {
    status: cause.$metadata.httpStatusCode ?? 0,
    item: item && fromAttributes(item as AttributeMap),
    cause,
  });
};

/** AWS's SDK behind the port of the stores: the oracle of the own client. */
export const createSdkClient = (client: DynamoDBDocumentClient, clock: Clock): DynamoClient => ({
  call: async (operation, input) => {
    try {
      return await SEND[operation](client, input);
    } catch (cause) {
      throw readError(cause);
    }
  },
  clock,
  destroy: () => client.destroy(),
});
