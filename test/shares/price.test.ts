import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Target } from '../../lambdas/catalog/catalog.ts';
import { listen } from '../../local/loopback.ts';
import { type DynamoProxy, startDynamoProxy } from '../metering/dynamo-proxy.ts';
import { startFleet } from '../metering/fleet.ts';
import { post } from '../support/local.ts';
import { modelOn, targetAt } from '../support/models.ts';

const ANSWER = JSON.stringify({
  ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'large' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'word' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 },
});

/** What the provider was sent. */
const sent: { headers: object; body: string }[] = [];

/** One process whose calls of the tables are listed, and a provider. */
const startLab = async (provider: string, quota: Partial<Target>) => {
  let proxy: DynamoProxy | undefined;
  const on = (id: string, extra: Partial<Target>) =>
    modelOn([targetAt(provider, { account: id, ...extra })], { id: `test/${id}` });
  const fleet = await startFleet({
    now: Date.now(),
    skews: [0],
    local: { catalog: [on('free', {}), on('shared', quota)], secrets: { secret: 'credential' } },
    wayToTables: async (endpoint) => {
      proxy = await startDynamoProxy(endpoint);
      return proxy.url;
    },
  });
  const limits = { rpm: 1_000, quota: 1_000, period: 'month', max_wait_ms: 10_000 };
  await post(fleet.home, '/admin/plans', { id: 'plan', ...limits });
  await post(fleet.home, '/admin/projects', { id: 'team' });
  const created = await post(fleet.home, '/admin/projects/team/keys', { plan: 'plan' });
  const { key } = (await created.json()) as { key: string };
  return {
    ask: async (model: string) => {
      const router = { baseUrl: fleet.servers[0]?.url ?? '', key };
      const messages = [{ role: 'user', content: 'word' }];
      const body = { model: `test/${model}`, max_tokens: 5, messages };
      return (await post(router, '/v1/chat/completions', body)).status;
    },
    calls: () => proxy?.calls ?? [],
    close: async () => {
      await fleet.close();
      await proxy?.close();
    },
  };
};

let provider: Awaited<ReturnType<typeof listen>>;
let plain: Awaited<ReturnType<typeof startLab>>;
let shared: typeof plain;
beforeAll(async () => {
  provider = await listen(
    createServer(async (request, response) => {
      sent.push({ headers: request.headers, body: await text(request) });
      response.writeHead(200, { 'content-type': 'application/json' }).end(ANSWER);
    }),
  );
  plain = await startLab(provider.url, {});
  shared = await startLab(provider.url, { quota: { rpm: 3_000 } });
});
afterAll(async () => {
  await Promise.all([plain.close(), shared.close()]);
  await provider.close();
});

/** Those of records are left out: how many records one of them carries depends on when they come. */
const callsOf = ({ calls }: typeof plain): string[] =>
  calls()
    .filter(({ table }) => !table.startsWith('records'))
    .map(({ operation, table }) => `${operation} ${table}`)
    .toSorted();

test('a quota that another model declares adds no call of a table and no byte to the provider', async () => {
  for (const lab of [plain, shared]) for (let n = 0; n < 3; n += 1) await lab.ask('free');
  expect(sent.slice(3)).toEqual(sent.slice(0, 3));
  await expect.poll(() => callsOf(shared)).toEqual(callsOf(plain));
  expect(callsOf(shared).length).toBeGreaterThan(6);
  expect(shared.calls().filter(({ key }) => key.startsWith('share/'))).toEqual([]);
});

test('a hundred requests at once in one process are decided in less than half as many writes', async ({
  annotate,
}) => {
  const statuses = await Promise.all(Array.from({ length: 100 }, () => shared.ask('shared')));
  expect(new Set(statuses)).toEqual(new Set([200]));
  const looks = shared
    .calls()
    .filter(({ operation, key }) => operation === 'UpdateItem' && key.startsWith('share/'));
  await annotate(`${looks.length} writes`);
  expect(looks.length).toBeGreaterThan(0);
  expect(looks.length).toBeLessThan(50);
});
