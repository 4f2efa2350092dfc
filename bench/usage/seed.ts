import { randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import models from '../../lambdas/catalog/models.json' with { type: 'json' };
import { parseModels } from '../../lambdas/catalog/parse-models.ts';
import { type AttributeMap, toAttributes } from '../../lambdas/stores/dynamo/client.ts';
import type { DynamoCalls, DynamoClient } from '../../lambdas/stores/dynamo/dynamo-client.ts';
import { createDynamoRecordStore } from '../../lambdas/stores/dynamo/record-store.ts';
import type { RequestRecord } from '../../lambdas/stores/record-store.ts';
import { dayOf } from '../../lambdas/support/clock.ts';
import { newRequestId } from '../../lambdas/support/ids.ts';
import { type LocalRouter, startLocal } from '../../local/start.ts';
import { TABLE_NAMES } from '../../test/support/dynamo.ts';

const PROJECTS = 9;
const KEYS = 500;
const CALLS_AT_ONCE = 20;
/** Items that are put at once. */
const BATCH = 50;

export type Owner = { keyId: string; meterId: string; projectId: string };

const models3 = parseModels(models).slice(0, 3);

export const recordAt = (index: number, owner: Owner, startedAt: number): RequestRecord => {
  const isCharged = index % 10 !== 0;
  const model = models3[index % models3.length];
  return {
    id: newRequestId(randomBytes, startedAt),
    startedAt,
    ms: 4_210,
    ...owner,
    planId: 'bench',
    day: dayOf(startedAt),
    period: dayOf(startedAt).slice(0, 7),
    protocol: 'chat',
    model: model?.id ?? '',
    isStream: true,
    attempts: [{ upstream: 'aurora', model: 'scribe-1-2026', startedMs: 3, ms: 480 }],
    firstContentMs: 483,
    inputTokens: 1_200,
    outputTokens: 340,
    cacheReadTokens: 800,
    costNanos: 4_200_000,
    isCharged,
    outcome: isCharged ? 'finished' : 'failed',
    status: isCharged ? 200 : 503,
    finish: 'stop',
  };
};

/** Runs `work` for the numbers below `count`, some at once. */
const inParallel = async (
  count: number,
  work: (index: number) => Promise<unknown>,
): Promise<void> => {
  let next = 0;
  const worker = async () => {
    while (next < count) {
      next += 1;
      await work(next - 1);
    }
  };
  await Promise.all(Array.from({ length: CALLS_AT_ONCE }, worker));
};

type Done<Result> = (error: unknown, result?: Result) => void;
type Put = { type: 'put'; key: string; value: AttributeMap };
/** The part of dynalite behind its HTTP API: a million conditional writes through that last half an hour. */
type EmbeddedTables = {
  getTable(name: string, done: Done<object>): void;
  getItemDb(name: string): { batch(puts: Put[], done: Done<void>): void };
};
type Dynalite = {
  create(options: object): EmbeddedTables;
  createKey(item: AttributeMap, table: object): string;
};
const dynalite = createRequire(import.meta.url)('dynalite/db') as Dynalite;

/** A local router, and what holds its tables. */
const startWithTables = async () => {
  const { create } = dynalite;
  const { promise, resolve } = Promise.withResolvers<EmbeddedTables>();
  dynalite.create = (options) => {
    const tables = create(options);
    resolve(tables);
    return tables;
  };
  const router = await startLocal();
  dynalite.create = create;
  return { router, tables: await promise };
};

/** The items that the store writes for records. */
const itemsOf = async (written: RequestRecord[]): Promise<AttributeMap[]> => {
  const items: AttributeMap[] = [];
  const collect = async (_: string, input: DynamoCalls['UpdateItem']['input']) => {
    const { Key, ExpressionAttributeNames: names = {}, ExpressionAttributeValues = {} } = input;
    const values = Object.entries(ExpressionAttributeValues).map(
      ([name, value]) => [names[`#${name.slice(1)}`] ?? name, value] as const,
    );
    items.push(toAttributes({ ...Key, ...Object.fromEntries(values) }));
    return {};
  };
  const client = { call: collect, destroy: () => undefined } as unknown as DynamoClient;
  const store = createDynamoRecordStore({ client, tableName: TABLE_NAMES.records });
  for (const record of written) await store.putRecord(record, 1);
  return items;
};

/** A local router with keys and records; `key` is one of its keys. */
export const seedRouter = async (count: number): Promise<{ router: LocalRouter; key: string }> => {
  const { router, tables } = await startWithTables();
  const post = async (path: string, body: object): Promise<Record<string, string>> => {
    const headers = { 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: JSON.stringify(body) };
    const response = await fetch(`${router.baseUrl}/admin${path}`, init);
    if (!response.ok) throw new Error(await response.text());
    return (await response.json()) as Record<string, string>;
  };
  const ids = Array.from({ length: PROJECTS }, (_, index) =>
    index === 0 ? 'local' : `project-${index}`,
  );
  for (const id of ids.slice(1)) await post('/projects', { id });
  const owners: Owner[] = [];
  await inParallel(KEYS, async (index) => {
    const projectId = ids[index % ids.length] ?? '';
    const { id = '', meter = id } = await post(`/projects/${projectId}/keys`, { plan: 'local' });
    owners.push({ keyId: id, meterId: meter, projectId });
  });
  const table = (await promisify(tables.getTable)(TABLE_NAMES.records)) ?? {};
  const records = tables.getItemDb(TABLE_NAMES.records);
  for (let first = 0; first < count; first += BATCH) {
    const written = Array.from({ length: Math.min(BATCH, count - first) }, (_, place) => {
      const owner = owners[(first + place) % owners.length];
      if (!owner) throw new Error('There are no keys.');
      // Begun now: a local server expects no record of an earlier request.
      return recordAt(first + place, owner, Date.now());
    });
    const puts = (await itemsOf(written)).map(
      (value): Put => ({ type: 'put', key: dynalite.createKey(value, table), value }),
    );
    await promisify(records.batch)(puts);
  }
  return { router, key: router.key };
};
