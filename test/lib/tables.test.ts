import { CreateTableCommand, type CreateTableCommandInput } from '@aws-sdk/client-dynamodb';
import dynalite from 'dynalite';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { DynamoClient } from '../../lambdas/stores/dynamo/dynamo-client.ts';
import { createDynamoProjectStore } from '../../lambdas/stores/dynamo/project-store.ts';
import { createDynamoStores } from '../../lambdas/stores/dynamo/stores.ts';
import { TABLES, type TableName } from '../../lambdas/tables.ts';
import { listen } from '../../local/loopback.ts';
import { keyStoreContract } from '../contracts/key-store.contract.ts';
import { meterStoreContract } from '../contracts/meter-store.contract.ts';
import { planStoreContract } from '../contracts/plan-store.contract.ts';
import { connectBoth } from '../support/dynamo.ts';
import { synthTemplate } from './synth.ts';

const synthesized = Object.entries(synthTemplate().findResources('AWS::DynamoDB::GlobalTable'));

/** Properties that CreateTable and the template's global table share. */
const SHARED = ['KeySchema', 'AttributeDefinitions', 'BillingMode', 'GlobalSecondaryIndexes'];

const definitionOf = (table: TableName): CreateTableCommandInput => {
  const found = synthesized.find(([id]) => id.toLowerCase().startsWith(`tables${table}`));
  if (!found) throw new Error(`The template has no table for ${table}.`);
  const properties = Object.entries(found[1].Properties ?? {});
  const shared = Object.fromEntries(properties.filter(([name]) => SHARED.includes(name)));
  return { ...shared, TableName: table } as CreateTableCommandInput;
};

const NAMES = {
  keys: 'keys',
  plans: 'plans',
  projects: 'projects',
  meters: 'meters',
  records: 'records',
  history: 'history',
} as const;

/** Starts a DynamoDB emulator with exactly the template's tables. */
const startSynthesized = async (): Promise<{
  client: DynamoClient;
  close(): Promise<void>;
}> => {
  const { url, close } = await listen(dynalite({ createTableMs: 0 }));
  const { client, sdk, close: closeAll } = connectBoth(url, close);
  await Promise.all(TABLES.map((name) => sdk.send(new CreateTableCommand(definitionOf(name)))));
  return { client, close: closeAll };
};

const open = async <Name extends 'keys' | 'plans' | 'meters'>(name: Name) => {
  const { client, close } = await startSynthesized();
  const create = () => createDynamoStores({ client, tableNames: NAMES })[name];
  return { store: create(), other: create(), close };
};

describe("the template's tables", () => {
  meterStoreContract("the template's table", () => open('meters'));
  keyStoreContract(() => open('keys'));
  planStoreContract(() => open('plans'));

  test('creating a project twice returns false and keeps the first one', async () => {
    const { client, close } = await startSynthesized();
    onTestFinished(close);
    const projects = createDynamoProjectStore({ client: client, tableName: 'projects' });
    const [b, a] = [
      { id: 'b', createdAt: 1 },
      { id: 'a', name: 'A', createdAt: 2 },
    ];
    expect(await projects.createProject(b)).toBe(true);
    expect(await projects.createProject(a)).toBe(true);
    expect(await projects.createProject({ ...b, name: 'again' })).toBe(false);
    expect(await projects.findProject('b')).toEqual(b);
    expect(await projects.listProjects()).toEqual([a, b]);
  });
});
