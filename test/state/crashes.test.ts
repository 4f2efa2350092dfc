import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createCatalog } from '../../lambdas/catalog/catalog.ts';
import { createRouter } from '../../lambdas/create-router.ts';
import { createDynamoStores, openDynamoResponses } from '../../lambdas/stores/dynamo/stores.ts';
import { systemClock } from '../../lambdas/support/clock.ts';
import { SECRET, startReceiver } from '../alerts/receiver.ts';
import { type Fleet, startFleet } from '../metering/fleet.ts';
import { TABLE_NAMES } from '../support/dynamo.ts';
import { createLocalDynamoClient } from '../support/local-aws.ts';
import { createLocalUpstream } from '../support/local-upstream.ts';

const START = Date.parse('2026-11-21T11:30:00Z');
/** Longer than a lease. */
const LEASE_OVER_MS = 31_000;
/** Units of dead processes are refunded. */
const REAPED_MS = 18 * 60_000;

let fleet: Fleet;
let now = START;
beforeAll(async () => {
  fleet = await startFleet({ now, skews: [0, 0] });
});
afterAll(() => fleet.close());

const pass = (ms: number) => {
  now += ms;
  fleet.setNow(now);
};

const call = async (key: string, path: string, body?: object, server = 1) => {
  const response = await fetch(`${fleet.servers[server]?.url}${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  return (await response.json()) as Record<string, unknown>;
};

const usedBy = async (key: string): Promise<unknown> =>
  ((await call(key, '/v1/usage')).period as { used: number }).used;

test('a background response whose process was killed (kill -9) is failed with the reason, and free', async () => {
  const plan = { rpm: 1_000_000, quota: 1_000_000, state: 'default' } as const;
  const key = await fleet.createKey({ plan });
  const input = `say ${'word '.repeat(2_000)}`;
  const queued = await call(
    key,
    '/v1/responses',
    { model: 'test/dawdles', background: true, input },
    0,
  );
  expect(queued.status).toBe('queued');
  await expect
    .poll(async () => (await call(key, `/v1/responses/${queued.id}`)).status)
    .toBe('in_progress');
  fleet.servers[0]?.process.kill('SIGKILL');
  await fleet.replace(0);
  pass(LEASE_OVER_MS);
  const failed = await call(key, `/v1/responses/${queued.id}`);
  expect(failed).toMatchObject({
    ...{ id: queued.id, status: 'failed' },
    error: { code: 'server_error', message: expect.stringContaining('process') },
  });
  expect(await call(key, `/v1/responses/${queued.id}`, undefined, 0)).toEqual(failed);
  expect(await call(key, `/v1/responses/${queued.id}/cancel`, {})).toEqual(failed);
  pass(REAPED_MS);
  expect(await usedBy(key)).toBe(0);
});

/** An environment that the schedule invokes, and the stores of the webhooks. */
const connect = () => {
  const clock = { ...systemClock, now: () => now };
  const { dynamo, secrets } = fleet.home.endpoints;
  const client = createLocalDynamoClient(dynamo);
  onTestFinished(() => client.destroy());
  const stores = createDynamoStores({ client, tableNames: TABLE_NAMES });
  const log = { info: () => {}, warn: () => {}, error: () => {} };
  const router = createRouter({
    ...{ ...stores, catalog: createCatalog([]), log, clock, randomBytes, mayReachInner: true },
    openResponses: openDynamoResponses({ client, tableNames: TABLE_NAMES }),
    upstream: createLocalUpstream({ endpoint: secrets, clock, log }),
  });
  return { router, webhooks: stores.openWebhooks?.() };
};

test('the schedule sends response.failed for a response whose process was killed (kill -9), once', async () => {
  const receiver = await startReceiver();
  receiver.answerWith((response) => response.writeHead(204).end());
  const { router, webhooks } = connect();
  await webhooks?.put('local', { url: receiver.url, secret: SECRET, setAt: now });
  const plan = { rpm: 1_000_000, quota: 1_000_000, state: 'default' } as const;
  const key = await fleet.createKey({ plan });
  const input = `say ${'word '.repeat(2_000)}`;
  const body = { model: 'test/dawdles', background: true, input };
  const { id } = await call(key, '/v1/responses', body, 0);
  await expect
    .poll(async () => (await call(key, `/v1/responses/${id}`)).status)
    .toBe('in_progress');
  fleet.servers[0]?.process.kill('SIGKILL');
  await fleet.replace(0);
  await router.repeatEvents();
  expect(receiver.bodies).toEqual([]);
  pass(LEASE_OVER_MS);
  await router.repeatEvents();
  await router.repeatEvents();
  expect(receiver.bodies.map((text) => JSON.parse(text))).toEqual([
    expect.objectContaining({ type: 'response.failed', data: { id } }),
  ]);
  expect((await call(key, `/v1/responses/${id}`)).status).toBe('failed');
});
