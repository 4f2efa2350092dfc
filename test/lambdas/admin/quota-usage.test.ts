import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { usageHandlers } from '../../../lambdas/admin/quota-usage.ts';
import { createKeyLifecycle } from '../../../lambdas/keys/lifecycle.ts';
import { createDynamoProjectStore } from '../../../lambdas/stores/dynamo/project-store.ts';
import { createLog } from '../../../lambdas/support/log.ts';
import { startDynamo, storesOn, TABLE_NAMES } from '../../support/dynamo.ts';
import { createManualClock } from '../../support/manual-clock.ts';

const NOW = Date.parse('2026-11-21T11:30:00Z');

test("the operator's usage refunds units of dead processes after 17 minutes, on every key's row", async () => {
  const { client, close } = await startDynamo();
  const { keys, plans, meters } = storesOn(client);
  const projects = createDynamoProjectStore({ client, tableName: TABLE_NAMES.projects });
  const clock = createManualClock(NOW);
  const log = createLog(() => undefined);
  const lifecycle = createKeyLifecycle({ keys, meters, clock, randomBytes });
  const usage = usageHandlers({ keys, plans, projects, meters, clock, log });
  await projects.createProject({ id: 'prj', createdAt: NOW });
  await plans.putPlan({ id: 'p', rpm: 9, quota: 9, period: 'month' });
  const { record } = await lifecycle.create({ projectId: 'prj', planId: 'p' });
  const { meterId, keyId } = record;
  await lifecycle.rotate({ projectId: 'prj', keyId, overlapMs: 86_400_000 });
  const window = { minute: NOW / 60_000, period: '2026-11', rpm: 9, quota: 9, now: NOW };
  await meters.reserve({ meterId, keyId, requestId: 'req_died', ...window });
  const used = async () => {
    const { body } = await usage['quotas.list']({
      parameters: { project: 'prj' },
      query: { limit: 200 },
      identity: { name: 'olga', roles: ['operator'] },
      input: undefined,
    });
    const { data } = body as { data: { used: number; reserved: number }[] };
    return data.map((row) => [row.used, row.reserved]);
  };
  clock.advance(16 * 60_000);
  expect(await used()).toEqual([
    [0, 1],
    [0, 1],
  ]);
  clock.advance(60_000);
  expect(await used()).toEqual([
    [0, 0],
    [0, 0],
  ]);
  await close();
});
