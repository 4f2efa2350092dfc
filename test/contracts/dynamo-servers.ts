import { describe } from 'vitest';
import { createTables } from '../../local/embedded-dynamo.ts';
import { connectBoth, startDynamo, type TestDynamo } from '../support/dynamo.ts';

/** A DynamoDB to try the stores on besides the embedded one, e.g. DynamoDB Local at http://127.0.0.1:8000. */
const ENDPOINT = process.env.DYNAMODB_ENDPOINT;

const isAlreadyThere = (error: unknown): boolean =>
  error instanceof Error && error.name === 'ResourceInUseException';

const connect = async (endpoint: string): Promise<TestDynamo> => {
  await createTables(endpoint).catch((error: unknown) => {
    if (!isAlreadyThere(error)) throw error;
  });
  return { endpoint, ...connectBoth(endpoint) };
};

/** Runs a suite on the embedded DynamoDB, and on the one at DYNAMODB_ENDPOINT: skipped, and seen to be, without. */
export const onEveryDynamo = (suite: (start: () => Promise<TestDynamo>) => void): void => {
  describe('on the embedded DynamoDB', () => suite(startDynamo));
  describe.skipIf(ENDPOINT === undefined)('on the DynamoDB at DYNAMODB_ENDPOINT', () =>
    suite(() => connect(ENDPOINT ?? '')),
  );
};
