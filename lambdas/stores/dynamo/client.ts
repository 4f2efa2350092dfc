import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';

/** Limits one call to about 3.3 s: three attempts of at most 1 s and two short pauses. */
const CONNECT_TIMEOUT_MS = 300;
const REQUEST_TIMEOUT_MS = 1_000;
const MAX_ATTEMPTS = 3;

/**
 * Creates the process's only client; its connections are kept alive. Region, endpoint and credentials default
 * to the standard environment variables.
 */
export const createDynamoClient = (options: DynamoDBClientConfig = {}): DynamoDBDocumentClient =>
  DynamoDBDocumentClient.from(
    new DynamoDBClient({
      maxAttempts: MAX_ATTEMPTS,
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
