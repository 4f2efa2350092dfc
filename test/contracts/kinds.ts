import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { describe } from 'vitest';
import type { DynamoClient } from '../../lambdas/stores/dynamo/dynamo-client.ts';
import { openFolder } from '../../local/database/folder.ts';
import { connectBoth, startDynamo } from '../support/dynamo.ts';
import { createTables } from '../support/embedded-dynamo.ts';
import { startMemory, tablesOn } from '../support/memory-stores.ts';

/** Where the stores of a suite keep their items. */
export type Kind = {
  client: DynamoClient;
  /** AWS's SDK on the same tables, of a DynamoDB. */
  sdk?: DynamoDBDocumentClient;
  close(): Promise<void>;
};

/** A DynamoDB to try the stores on besides the embedded one, e.g. DynamoDB Local at http://127.0.0.1:8000. */
const ENDPOINT = process.env.DYNAMODB_ENDPOINT;

const isAlreadyThere = (error: unknown): boolean =>
  error instanceof Error && error.name === 'ResourceInUseException';

const connect = async (endpoint: string): Promise<Kind> => {
  await createTables(endpoint).catch((error: unknown) => {
    if (!isAlreadyThere(error)) throw error;
  });
  return connectBoth(endpoint);
};

/** The stores of a new data folder. */
export const openFolderKind = async (): Promise<Kind> => {
  const folder = await mkdtemp(join(tmpdir(), 'model-router-data-'));
  const onFailure = (message: string) => {
    throw new Error(message);
  };
  const kind = tablesOn(await openFolder({ folder, onFailure }));
  return {
    ...kind,
    close: async () => {
      await kind.close();
      await rm(folder, { recursive: true });
    },
  };
};

/** Runs a suite on every kind, saying which have AWS's SDK; that on the DynamoDB at DYNAMODB_ENDPOINT is skipped, and seen to be, without. */
export const onEveryKind = (
  suite: (start: () => Promise<Kind>, hasSdk?: boolean) => void,
): void => {
  describe('on the embedded DynamoDB', () => suite(startDynamo, true));
  describe.skipIf(ENDPOINT === undefined)('on the DynamoDB at DYNAMODB_ENDPOINT', () =>
    suite(() => connect(ENDPOINT ?? ''), true),
  );
  describe('in memory', () => suite(startMemory));
  describe('in a data folder', () => suite(openFolderKind));
};
