import { createDynamoClient } from '../../lambdas/stores/dynamo/client.ts';
import type { DynamoClient } from '../../lambdas/stores/dynamo/dynamo-client.ts';
import { systemClock } from '../../lambdas/support/clock.ts';

/** Client configuration that AWS's clients require. The local services check none of it. */
export const LOCAL_AWS = {
  region: 'us-east-1',
  credentials: async () => ({ accessKeyId: 'local', secretAccessKey: 'local' }),
};

/** The router's client, connected to a local DynamoDB. `timeoutMs` replaces the limits used on AWS. */
export const createLocalDynamoClient = (endpoint: string, timeoutMs?: number): DynamoClient =>
  createDynamoClient({
    ...LOCAL_AWS,
    endpoint,
    clock: systemClock,
    ...(timeoutMs !== undefined && { timeouts: { connectMs: timeoutMs, requestMs: timeoutMs } }),
  });
