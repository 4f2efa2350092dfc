import { randomBytes } from 'node:crypto';
import models from '../../lambdas/catalog/models.json' with { type: 'json' };
import { parseModels } from '../../lambdas/catalog/parse-models.ts';
import { createKeyLifecycle } from '../../lambdas/keys/lifecycle.ts';
import type { RequestRecord } from '../../lambdas/stores/record-store.ts';
import { DAY_MS, dayOf, systemClock } from '../../lambdas/support/clock.ts';
import { newRequestId } from '../../lambdas/support/ids.ts';
import { openFolder } from '../../local/database/folder.ts';
import { createMemoryDatabase } from '../../local/database/memory.ts';
import { openStores } from '../../local/local-stores.ts';
import { type LocalRouter, startLocal } from '../../local/start.ts';

const PROJECTS = 9;

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

type Seed = {
  records: number;
  /** @default 500 */
  keys?: number;
  /** @default the memory of this process */
  folder?: string | undefined;
};

/** A local router on stores with keys, and records of requests that began today; `key` is one of its keys. */
export const seedRouter = async ({ records, keys: count = 500, folder }: Seed) => {
  const database = folder
    ? await openFolder({ folder, onFailure: console.error })
    : createMemoryDatabase();
  const stores = openStores(systemClock, database);
  const { keys, plans, projects, meters, records: recordStore } = stores.parts;
  const ids = Array.from({ length: PROJECTS }, (_, index) =>
    index === 0 ? 'local' : `project-${index}`,
  );
  for (const id of ids) await projects.createProject({ id, createdAt: Date.now() });
  await plans.putPlan({ id: 'bench', rpm: 600, quota: 100_000, period: 'month' });
  const lifecycle = createKeyLifecycle({ keys, meters, clock: systemClock, randomBytes });
  const owners: Owner[] = [];
  let key = '';
  for (let index = 0; index < count; index += 1) {
    const projectId = ids[index % 2 === 0 ? 0 : index % ids.length] ?? '';
    const created = await lifecycle.create({ projectId, planId: 'bench', name: `key ${index}` });
    owners.push({ ...created.record, projectId });
    key ||= created.key;
  }
  const now = Date.now();
  const midnight = Math.floor(now / DAY_MS) * DAY_MS;
  for (let index = 0; index < records; index += 1) {
    const owner = owners[index % owners.length];
    if (!owner) throw new Error('There are no keys.');
    const { keyId, meterId, projectId } = owner;
    const startedAt = midnight + Math.floor(((now - midnight) * index) / records);
    await recordStore.putRecord(recordAt(index, { keyId, meterId, projectId }, startedAt), 1);
  }
  const router: LocalRouter = await startLocal({ stores });
  return { router, key };
};
