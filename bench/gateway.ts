/**
 * CPU of the whole router per request and per event, as multiples of D, a proxy that parses nothing: `npm run bench`.
 * bench/README.md says how to read the table.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PutCommand, ScanCommand } from '@aws-sdk/lib-dynamodb';
import type { Model } from '../lambdas/catalog/catalog.ts';
import type { RouterEnv } from '../lambdas/env.ts';
import { createKeyLifecycle } from '../lambdas/keys/lifecycle.ts';
import { createDocumentClient } from '../lambdas/stores/dynamo/sdk-client.ts';
import { createDynamoStores } from '../lambdas/stores/dynamo/stores.ts';
import { systemClock } from '../lambdas/support/clock.ts';
import { bundle, WEB_BUNDLE } from '../lib/bundle/bundle.ts';
import { createLocalDynamoClient, LOCAL_AWS } from '../local/local-aws.ts';
import { CASES, type Case, EVENT_COUNTS } from './gateway/cases.ts';
import { load, type Target } from './gateway/client.ts';
import { cpuOf, start, startRouter, stopAll } from './gateway/processes.ts';
import { median } from './median.ts';

const ROUNDS = Number(process.argv[2] ?? 3);
const TABLES = { keys: 'local-keys', plans: 'local-plans', meters: 'local-meters' };

type Measured = Target & { pid: number };
type Store = { dynamo: string; secrets: string };

const modelsAt = (url: string): Model[] =>
  EVENT_COUNTS.map((events) => ({
    ...{ id: `bench/${events}`, display_name: 'Bench', created: 1, owned_by: 'bench' },
    ...{ context_length: 1_000_000, max_output_tokens: 100_000 },
    ...{ streaming: true, tools: true, vision: false, input_price_per_m: 1, output_price_per_m: 2 },
    targets: [
      {
        upstream: 'bench',
        protocol: 'chat',
        baseUrl: url,
        model: `bench/${events}`,
        secret: 'bench',
      },
    ],
  }));

/** A key without effective limits, made by the router's own code. */
const createKey = async (endpoint: string): Promise<string> => {
  const client = createLocalDynamoClient(endpoint, 10_000);
  const stores = createDynamoStores({ client, tableNames: TABLES });
  await stores.plans.putPlan({ id: 'bench', rpm: 1e9, quota: 1e9, period: 'month' });
  const lifecycle = createKeyLifecycle({ ...stores, clock: systemClock, randomBytes });
  const { key } = await lifecycle.create({ projectId: 'bench', planId: 'bench' });
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

const startRouterOn = async (
  file: string,
  key: string,
  { dynamo, secrets }: Store,
): Promise<Measured> => {
  const own = {
    ...{ STAGE: 'bench', MAX_SERIES: '60', CORS_ORIGINS: '', UPSTREAM_SECRET: 'upstreams' },
    ...{ KEYS_TABLE: TABLES.keys, PLANS_TABLE: TABLES.plans, METERS_TABLE: TABLES.meters },
  } satisfies RouterEnv;
  const router = await startRouter(file, {
    ...own,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
    // As long as the token of a function's role.
    AWS_SESSION_TOKEN: 't'.repeat(800),
    AWS_ENDPOINT_URL_DYNAMODB: dynamo,
    AWS_ENDPOINT_URL_SECRETS_MANAGER: secrets,
  });
  return { ...router, headers: { authorization: `Bearer ${key}` } };
};

type Sample = { cpu: number; firstByteMs: number };

/** CPU per request, or per event of a stream, and the median time to the first byte. */
const measure = async ({ pid, ...target }: Measured, current: Case): Promise<Sample> => {
  const before = cpuOf(pid);
  const { firstByteMs } = await load(target, current);
  const units = current.requests * (current.stream ? current.events : 1);
  return { cpu: (cpuOf(pid) - before) / units, firstByteMs: median(firstByteMs) };
};

type Row = {
  name: string;
  d: number[];
  ratios: Record<string, number[]>;
  addedMs: Record<string, number[]>;
};

/** D runs right before each target, so that both see the same machine. */
const runRound = async (d: Measured, targets: Record<string, Measured>, rows: Row[]) => {
  for (const [name, target] of Object.entries(targets)) {
    for (const [index, current] of CASES.entries()) {
      const floor = await measure(d, current);
      const sample = await measure(target, current);
      const row = rows[index];
      row?.d.push(floor.cpu);
      (row?.ratios[name] ?? []).push(sample.cpu / floor.cpu);
      (row?.addedMs[name] ?? []).push(sample.firstByteMs - floor.firstByteMs);
    }
  }
};

const print = (rows: Row[], names: string[]) => {
  const line = (label: string, cells: string[]) =>
    console.log(label.padEnd(36) + cells.map((cell) => cell.padStart(18)).join(''));
  line('CPU, and added ms to the first byte', ['D, us', ...names.map((name) => `${name}, x D`)]);
  for (const { name, d, ratios, addedMs } of rows) {
    const cells = names.map((target) => {
      const added = median(addedMs[target] ?? []).toFixed(1);
      return `${median(ratios[target] ?? []).toFixed(1)} (+${added})`;
    });
    line(name, [median(d).toFixed(1), ...cells]);
  }
};

const folder = mkdtempSync(join(tmpdir(), 'bench-'));
try {
  const upstream = await start<{ url: string }>('upstream.ts');
  const pipe = await start<{ url: string }>('pipe.ts', upstream.url);
  const stores = {
    'instant store': await start<Store>('instant-store.ts'),
    dynalite: await start<Store>('dynalite.ts'),
  };
  const catalog = join(folder, 'models.json');
  writeFileSync(catalog, JSON.stringify(modelsAt(upstream.url)));
  const { file } = bundle({ ...WEB_BUNDLE, outdir: folder, catalog });
  const d: Measured = { ...pipe, headers: {} };
  const key = await createKey(stores.dynalite.dynamo);
  await copyKeys(stores.dynalite.dynamo, stores['instant store'].dynamo);
  const targets: Record<string, Measured> = {};
  for (const [name, store] of Object.entries(stores)) {
    targets[name] = await startRouterOn(file, key, store);
  }
  const names = Object.keys(targets);
  const empty = () => Object.fromEntries(names.map((name): [string, number[]] => [name, []]));
  const newRows = (): Row[] =>
    CASES.map(({ name }) => ({ name, d: [], ratios: empty(), addedMs: empty() }));
  // The first round compiles the code of every case, and is discarded.
  await runRound(d, targets, newRows());
  const rows = newRows();
  for (let round = 0; round < ROUNDS; round += 1) await runRound(d, targets, rows);
  print(rows, names);
} finally {
  stopAll();
  rmSync(folder, { recursive: true });
}
