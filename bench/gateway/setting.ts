import { randomBytes } from 'node:crypto';
import { PutCommand, ScanCommand } from '@aws-sdk/lib-dynamodb';
import type { Model, Target } from '../../lambdas/catalog/catalog.ts';
import type { RouterEnv } from '../../lambdas/env.ts';
import { createKeyLifecycle } from '../../lambdas/keys/lifecycle.ts';
import { holdAt } from '../../lambdas/metering/budgets.ts';
import { UPSTREAM_PROTOCOLS } from '../../lambdas/protocols/protocol-name.ts';
import { createDynamoBudgetStore } from '../../lambdas/stores/dynamo/budgets/budget-store.ts';
import { createDynamoStores } from '../../lambdas/stores/dynamo/stores.ts';
import { systemClock } from '../../lambdas/support/clock.ts';
import { createLocalDynamoClient, LOCAL_AWS } from '../../test/support/local-aws.ts';
import { createDocumentClient } from '../../test/support/sdk-client.ts';
import { MODELS } from './cases.ts';
import { start } from './processes.ts';

const TABLES = {
  keys: 'keys',
  plans: 'plans',
  meters: 'meters',
  records: 'records',
  history: 'history',
};

export type Store = { dynamo: string; secrets: string };

/** The provider at `url`, which reads the shape of its responses from the model's name. */
export const targetAt = (url: string, shape: string): Target => ({
  upstream: 'bench',
  protocol: UPSTREAM_PROTOCOLS.find((name) => shape.includes(`/${name}`)) ?? 'chat',
  baseUrl: url,
  model: shape,
  secret: 'bench',
});

export const modelOf = (id: string, targets: Target[]): Model => ({
  ...{ id, display_name: 'Bench', created: 1, owned_by: 'bench' },
  ...{ context_length: 10_000_000, max_output_tokens: 100_000 },
  ...{ streaming: true, tools: true, vision: false, input_price_per_m: 1, output_price_per_m: 2 },
  targets,
});

export const modelsAt = (url: string): Model[] =>
  MODELS.map((shape) => modelOf(shape, [targetAt(url, shape)]));

/** Keys without effective limits, made by the router's own code. */
const createKeys = async (endpoint: string, count: number): Promise<string[]> => {
  const client = createLocalDynamoClient(endpoint, 10_000);
  const stores = createDynamoStores({ client, tableNames: TABLES });
  await stores.plans.putPlan({ id: 'bench', rpm: 1e9, quota: 1e9, period: 'month' });
  const lifecycle = createKeyLifecycle({ ...stores, clock: systemClock, randomBytes });
  const keys: string[] = [];
  while (keys.length < count) {
    keys.push((await lifecycle.create({ projectId: 'bench', planId: 'bench' })).key);
  }
  client.destroy();
  return keys;
};

/** A key of a project with a budget that no bench spends. */
const createBudgetedKey = async (endpoint: string): Promise<string> => {
  const client = createLocalDynamoClient(endpoint, 10_000);
  const stores = createDynamoStores({ client, tableNames: TABLES });
  const lifecycle = createKeyLifecycle({ ...stores, clock: systemClock, randomBytes });
  const period = 'total' as const;
  const ids = { projectId: 'bench', planId: 'bench' };
  const { key } = await lifecycle.create({ ...ids, budgets: [`project/${period}`] });
  const budgets = createDynamoBudgetStore({ client, tableName: TABLES.meters });
  const owner = { scope: 'project', id: 'bench', period };
  const budget = { ...owner, name: 'bench', max: 1e15, isPaused: false, setBy: 'bench', setAt: 0 };
  await budgets.setBudget(budget, holdAt(owner, 0));
  client.destroy();
  return key;
};

/** Copies keys and plans, so that one key is known to both. */
const copyKeys = async (from: string, to: string): Promise<void> => {
  const [source, target] = [from, to].map((endpoint) =>
    createDocumentClient({ ...LOCAL_AWS, endpoint }),
  );
  for (const TableName of [TABLES.keys, TABLES.plans]) {
    const page = await source?.send(new ScanCommand({ TableName }));
    for (const Item of page?.Items ?? []) await target?.send(new PutCommand({ TableName, Item }));
  }
  source?.destroy();
  target?.destroy();
};

/** The environment of a router on `store`, as Lambda sets it. */
export const environmentOn = ({ dynamo, secrets }: Store): Record<string, string> => {
  const own = {
    ...{ STAGE: 'bench', MAX_SERIES: '60', CORS_ORIGINS: '', UPSTREAM_SECRET: 'upstreams' },
    ...{ KEYS_TABLE: TABLES.keys, PLANS_TABLE: TABLES.plans, METERS_TABLE: TABLES.meters },
    ...{ RECORDS_TABLE: TABLES.records, HISTORY_TABLE: TABLES.history },
    ...{ RECORD_DAYS: '35', TRACEPARENT: 'keep' as const },
  } satisfies RouterEnv;
  return {
    ...own,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
    // As long as the token of a function's role.
    AWS_SESSION_TOKEN: 't'.repeat(800),
    AWS_ENDPOINT_URL_DYNAMODB: dynamo,
    AWS_ENDPOINT_URL_SECRETS_MANAGER: secrets,
  };
};

/** Starts both stores, with keys that both know. */
export const startStores = async (count = 1) => {
  const instant = await start<Store>('instant-store.ts');
  const dynalite = await start<Store>('dynalite.ts');
  const keys = await createKeys(dynalite.dynamo, count);
  await copyKeys(dynalite.dynamo, instant.dynamo);
  const budgeted = await createBudgetedKey(instant.dynamo);
  return { key: keys[0] ?? '', budgeted, keys, stores: { 'instant store': instant, dynalite } };
};
