import { randomBytes } from 'node:crypto';
import models from '../../lambdas/catalog/models.json' with { type: 'json' };
import { parseModels } from '../../lambdas/catalog/parse-models.ts';
import { createDynamoRecordStore } from '../../lambdas/stores/dynamo/record-store.ts';
import type { RequestRecord } from '../../lambdas/stores/record-store.ts';
import { dayOf } from '../../lambdas/support/clock.ts';
import { newRequestId } from '../../lambdas/support/ids.ts';
import { createLocalDynamoClient } from '../../local/local-aws.ts';
import { type LocalRouter, startLocal } from '../../local/start.ts';
import { TABLE_NAMES } from '../../test/support/dynamo.ts';

const PROJECTS = 9;
const KEYS = 500;
const CALLS_AT_ONCE = 20;

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

/** A local router with keys and records; `key` is one of its keys. */
export const seedRouter = async (count: number): Promise<{ router: LocalRouter; key: string }> => {
  const router = await startLocal();
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
  const client = createLocalDynamoClient(router.endpoints.dynamo, 30_000);
  const records = createDynamoRecordStore({ client, tableName: TABLE_NAMES.records });
  await inParallel(count, async (index) => {
    const owner = owners[index % owners.length];
    // Begun now: a local server expects no record of an earlier request.
    if (owner) await records.putRecord(recordAt(index, owner, Date.now()), 1);
  });
  client.destroy();
  return { router, key: router.key };
};
