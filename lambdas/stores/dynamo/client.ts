import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';

/** Of one attempt. */
const CONNECT_TIMEOUT_MS = 300;
const REQUEST_TIMEOUT_MS = 1_000;

/**
 * Creates the process's only client; its connections are kept alive. Region, endpoint and credentials default
 * to the standard environment variables.
 */
export const createDynamoClient = (options: DynamoDBClientConfig = {}): DynamoDBDocumentClient =>
  DynamoDBDocumentClient.from(
    new DynamoDBClient({
      // The table repeats calls itself (table.ts), because it must know the outcome of each attempt.
      maxAttempts: 1,
      requestHandler: {
        connectionTimeout: CONNECT_TIMEOUT_MS,
        requestTimeout: REQUEST_TIMEOUT_MS,
        // Without this the SDK only logs a warning and keeps waiting.
        throwOnRequestTimeout: true,
      },
      ...options,
    }),
    { marshallOptions: { removeUndefinedValues: true } },
  );
