import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../lambdas/support/clock.ts';
import type { TableCall } from '../metering/dynamo-proxy.ts';
import { adminOn } from '../support/admin-bench.ts';
import { TABLE_NAMES } from '../support/dynamo.ts';
import { startEnvironments } from '../support/environments.ts';
import { answer, startUpstream } from '../support/fleet-upstream.ts';
import { createLocalDynamoClient } from '../support/local-aws.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { send } from '../support/send.ts';

const MODEL = 'vendor/model';
const PLAN = { rpm: 100, quota: 100, period: 'month' };

/** An environment of the router, and the admin function, on the same way to the tables. */
const start = async () => {
  const provider = await startUpstream(answer);
  const models = [modelOn([targetAt(provider.url)], { id: MODEL })];
  const fleet = await startEnvironments({ models, clock: systemClock, offsets: [0] });
  const [environment] = fleet.environments;
  if (!environment) throw new Error('no environment');
  const client = createLocalDynamoClient(environment.dynamo.url);
  onTestFinished(async () => {
    client.destroy();
    await fleet.close();
  });
  return { environment, fleet, admin: adminOn(client, { models }) };
};

type Bench = Awaited<ReturnType<typeof start>>;

/** A reservation is not repeated: another write would add to the load of its item. */
const isReservation = ({ operation, table, key }: TableCall) =>
  operation === 'UpdateItem' && table === TABLE_NAMES.meters && /^mtr_\w+$/.test(key);

/** Throttles the first attempt of each call, and returns what it has throttled. */
const throttleFirstAttempts = ({ environment }: Bench): Set<string> => {
  const throttled = new Set<string>();
  const waiting = new Set<string>();
  environment.dynamo.decide((call) => {
    if (isReservation(call)) return 'none';
    if (waiting.delete(call.body)) return 'none';
    waiting.add(call.body);
    throttled.add(`${call.operation} ${call.table}`);
    return 'throttled';
  });
  return throttled;
};

type Asked = { key?: string; body?: object; headers?: Record<string, string> };

const ask = async ({ environment }: Bench, path: string, { key = '', body, headers }: Asked) => {
  const { status, text } = await send(environment.url, path, {
    method: body ? 'POST' : 'GET',
    headers: { 'x-api-key': key, ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
  if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
  return JSON.parse(text) as Record<string, unknown>;
};

const operate = async ({ admin }: Bench, path: string, body?: object) => {
  const request = body ? { method: 'POST', body: JSON.stringify(body) } : {};
  const { status, body: reply } = await admin.send({ path: `/admin${path}`, ...request });
  if (status > 299) throw new Error(`${path}: ${status} ${JSON.stringify(reply)}`);
  return reply as Record<string, string>;
};

/** Of the record of a generation. */
const pathOf = ({ id }: Record<string, unknown>): string =>
  `/v1/requests/${String(id).replace('chatcmpl-', 'req_')}`;

const BODY = { model: MODEL, max_tokens: 5, messages: [{ role: 'user', content: 'hi' }] };
const CHAT = '/v1/chat/completions';

test('a first attempt that DynamoDB throttles is repeated, for every table and verb but a reservation', async () => {
  const bench = await start();
  const throttled = throttleFirstAttempts(bench);
  await operate(bench, '/projects', { id: 'throttled' });
  const at = '/projects/throttled';
  await operate(bench, '/plans', { id: 'throttled', ...PLAN });
  const { key = '', id = '' } = await operate(bench, `${at}/keys`, {
    plan: 'throttled',
    name: 'one',
  });
  const generated = await ask(bench, CHAT, { key, body: BODY });
  const headers = { 'idempotency-key': 'one' };
  await ask(bench, CHAT, { key, body: BODY, headers });
  await ask(bench, CHAT, { key, body: BODY, headers });
  await ask(bench, '/v1/models', { key });
  await ask(bench, '/v1/messages/count_tokens', { key, body: BODY });
  const { period } = await ask(bench, '/v1/usage', { key });
  expect(period).toMatchObject({ used: 2, reserved: 0 });
  expect(await ask(bench, pathOf(generated), { key })).toMatchObject({ charged: true });

  await operate(bench, '/projects');
  await operate(bench, '/plans');
  await operate(bench, '/plans/throttled', { rpm: 50 });
  await operate(bench, `${at}/keys`);
  await operate(bench, `${at}/usage`);
  await operate(bench, `${at}/keys/${id}`, { name: 'two' });
  await operate(bench, `${at}/keys/${id}/pause`, {});
  await operate(bench, `${at}/keys/${id}/resume`, {});
  await operate(bench, `${at}/keys/${id}/rotate`, {});
  await operate(bench, '/requests');
  await operate(bench, '/history/reconcile', {});
  await operate(bench, '/usage?by=key');
  await operate(bench, '/audit');
  await operate(bench, `${at}/keys/${id}/revoke`, {});
  await operate(bench, '/projects', { id: 'empty' });
  await operate(bench, '/projects/empty/delete', {});
  await operate(bench, '/plans', { id: 'unused', ...PLAN });
  await operate(bench, '/plans/unused/delete', {});

  expect(
    bench.environment.lines().filter(({ level }) => level === 'warn' || level === 'error'),
  ).toEqual([]);
  expect([...throttled].toSorted()).toEqual(
    expect.arrayContaining([
      'GetItem answers',
      'GetItem keys',
      'GetItem meters',
      'GetItem plans',
      'Query history',
      'Query keys',
      'Query records',
      'Scan plans',
      'Scan projects',
      'UpdateItem answers',
      'UpdateItem history',
      'UpdateItem keys',
      'UpdateItem meters',
      'UpdateItem plans',
      'UpdateItem projects',
      'UpdateItem records',
    ]),
  );
});

test('a record whose write DynamoDB throttles three times is kept', async () => {
  const bench = await start();
  const { environment, fleet } = bench;
  const { key } = await fleet.createTenant();
  let left = 3;
  environment.dynamo.decide(({ table }) => {
    if (table !== TABLE_NAMES.records || left === 0) return 'none';
    left -= 1;
    return 'throttled';
  });
  const generated = await ask(bench, CHAT, { key, body: BODY });
  expect(await ask(bench, pathOf(generated), { key })).toMatchObject({ charged: true });
  expect(left).toBe(0);
});
