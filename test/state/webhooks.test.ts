import { DeleteItemCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import OpenAI from 'openai';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { HOUR_MS, MINUTE_MS } from '../../lambdas/support/clock.ts';
import { SECRET, startReceiver, verified } from '../alerts/receiver.ts';
import { startHeldUpstream } from '../replay/held-upstream.ts';
import { createCountingClock } from '../support/counting-clock.ts';
import { TABLE_NAMES } from '../support/dynamo.ts';
import { startFleet } from '../support/fleet.ts';
import { withRouter } from '../support/local.ts';
import { LOCAL_AWS } from '../support/local-aws.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { passUntil } from '../support/pass-until.ts';
import { send } from '../support/send.ts';
import { tableCallsOf } from '../support/table-calls.ts';

type Receiver = Awaited<ReturnType<typeof startReceiver>>;

const startTaking = async (): Promise<Receiver> => {
  const receiver = await startReceiver();
  receiver.answerWith((response) => response.writeHead(204).end());
  return receiver;
};

const headersAt = (receiver: Receiver, index: number) =>
  receiver.requests[index] as Record<string, string>;

const eventAt = (receiver: Receiver, index = 0, secret = SECRET) =>
  verified(receiver.bodies[index] ?? '', headersAt(receiver, index), secret);

describe('webhooks of a router on its tables', () => {
  /** Two routers on the same tables, a provider that answers when the test says so, and a receiver. */
  const start = async ({ mayReachInner = true, hasAddress = true } = {}) => {
    // The SDK compares the instant of a signature with that of this machine.
    const clock = createCountingClock(Date.now());
    const upstream = await startHeldUpstream();
    const models = [modelOn([targetAt(upstream.url)])];
    const fleet = await startFleet({ models, clock, size: 2, mayReachInner, onDynamo: true });
    onTestFinished(async () => {
      await fleet.close();
      await upstream.close();
    });
    const plan = { rpm: 1_000_000, quota: 1_000_000, period: 'month', state: 'default' } as const;
    await fleet.stores.plans.putPlan({ id: 'fleet', ...plan });
    const receiver = await startTaking();
    const webhooks = fleet.stores.openWebhooks?.();
    const setUrl = (url: string) =>
      webhooks?.put('project', { url, secret: SECRET, setAt: clock.now() });
    if (hasAddress) await setUrl(receiver.url);
    const call = async (method: string, path: string, body?: object, router = 0) => {
      const { text } = await send(fleet.urls[router] ?? '', path, {
        method,
        headers: { 'x-api-key': fleet.key },
        ...(body && { body: JSON.stringify(body) }),
      });
      return JSON.parse(text) as Record<string, unknown>;
    };
    const create = (fields: object = {}) =>
      call('POST', '/v1/responses', {
        ...{ model: 'vendor/model', input: 'hi', background: true },
        ...fields,
      });
    const failures = () => fleet.lines().filter(({ event }) => event === 'webhook_failed');
    const repeat = () => fleet.handlers[1]?.repeatEvents();
    return { clock, upstream, fleet, receiver, setUrl, call, create, failures, repeat };
  };

  test("each end of a background response is one event, which OpenAI's SDK verifies", async () => {
    const { create, call, receiver, upstream, clock, repeat } = await start();
    const completed = await create();
    await expect.poll(() => receiver.bodies.length).toBe(1);
    expect(await eventAt(receiver)).toEqual({
      ...{ object: 'event', id: expect.stringMatching(/^evt_/), type: 'response.completed' },
      ...{ created_at: Math.floor(clock.now() / 1_000), data: { id: completed.id } },
    });
    upstream.state.refusesNext = 9;
    const failed = await create();
    await expect.poll(() => receiver.bodies.length).toBe(2);
    expect(await eventAt(receiver, 1)).toMatchObject({
      ...{ type: 'response.failed', data: { id: failed.id } },
    });
    upstream.state.refusesNext = 0;
    upstream.state.isQuick = false;
    const calls = upstream.calls.length;
    const { id } = await create();
    await expect.poll(() => upstream.calls.length).toBe(calls + 1);
    upstream.calls.at(-1)?.begin();
    await expect
      .poll(async () => (await call('GET', `/v1/responses/${id}`)).status)
      .toBe('in_progress');
    await passUntil(clock, call('POST', `/v1/responses/${id}/cancel`, {}, 1));
    await expect.poll(() => receiver.bodies.length).toBe(3);
    expect(await eventAt(receiver, 2)).toMatchObject({ type: 'response.cancelled', data: { id } });
    await repeat();
    expect(receiver.bodies).toHaveLength(3);
  });

  test('no event is sent of a response that is not in the background, of another project, or after the address is deleted', async () => {
    const { create, fleet, receiver, repeat } = await start();
    await create({ background: false });
    const { text } = await send(fleet.urls[0] ?? '', '/v1/responses', {
      ...{ method: 'POST', headers: { 'x-api-key': fleet.otherKey } },
      body: JSON.stringify({ model: 'vendor/model', input: 'hi', background: true }),
    });
    expect(JSON.parse(text)).toMatchObject({ status: 'queued' });
    await fleet.stores.openWebhooks?.().remove('project');
    await create();
    await expect.poll(() => fleet.charged()).toBe(2);
    await repeat();
    expect(receiver.bodies).toEqual([]);
  });

  test('a receiver that is away gets three tries and then those of the schedule, for 24 hours, with the same id and time', async () => {
    const { create, receiver, clock, failures, repeat, upstream } = await start();
    receiver.answerWith((response) => response.writeHead(503).end());
    upstream.state.refusesNext = 9;
    const { id } = await create();
    for (const [count, ms] of [
      [1, 1_000],
      [2, 4_000],
    ] as const) {
      await expect.poll(() => receiver.bodies.length).toBe(count);
      await expect.poll(() => clock.waits()).toContain(ms);
      clock.advance(ms);
    }
    await expect.poll(() => failures().length).toBe(1);
    expect(failures()[0]).toMatchObject({
      ...{ projectId: 'project', requestId: String(id).replace('resp_', 'req_') },
    });
    expect(JSON.stringify(failures())).not.toContain(receiver.url);
    await repeat();
    expect(receiver.bodies).toHaveLength(4);
    clock.advance(23 * HOUR_MS);
    receiver.answerWith((response) => response.writeHead(204).end());
    await repeat();
    await repeat();
    expect(receiver.bodies).toHaveLength(5);
    expect(new Set(receiver.requests.map((headers) => headers['webhook-id'])).size).toBe(1);
    expect(new Set(receiver.bodies.map(String)).size).toBe(1);
    expect(new Set(receiver.requests.map((headers) => headers['webhook-timestamp'])).size).toBe(4);
  });

  test('an event that no receiver took in 25 hours is not sent any more', async () => {
    const { create, receiver, clock, repeat } = await start();
    receiver.answerWith((response) => response.writeHead(410).end());
    await create();
    await expect.poll(() => receiver.bodies.length).toBe(1);
    clock.advance(26 * HOUR_MS);
    await repeat();
    expect(receiver.bodies).toHaveLength(1);
  });

  test('events that a release without the mark of webhooks owes are repeated', async () => {
    const { create, receiver, failures, repeat, fleet, clock } = await start();
    receiver.answerWith((response) => response.writeHead(410).end());
    await create();
    await expect.poll(() => failures().length).toBe(1);
    const client = new DynamoDBClient({ ...LOCAL_AWS, endpoint: fleet.tablesUrl() });
    onTestFinished(() => client.destroy());
    const mark = { TableName: TABLE_NAMES.meters, Key: { pk: { S: 'webhooks' } } };
    const remove = new DeleteItemCommand({ ...mark, ReturnValues: 'ALL_OLD' });
    expect((await client.send(remove)).Attributes).toBeDefined();
    await repeat();
    clock.advance(5 * MINUTE_MS);
    receiver.answerWith((response) => response.writeHead(204).end());
    await repeat();
    expect(receiver.bodies).toHaveLength(3);
  });

  test('events are looked for once an hour where no project has ever had an address', async () => {
    const { repeat } = await start({ hasAddress: false });
    await repeat();
    expect(await tableCallsOf(async () => repeat())).toEqual(['DynamoDB_20120810.GetItem']);
  });

  test('the event of a response that was deleted meanwhile is not sent', async () => {
    const { create, call, receiver, failures, repeat } = await start();
    receiver.answerWith((response) => response.writeHead(404).end());
    const { id } = await create();
    await expect.poll(() => failures().length).toBe(1);
    await call('DELETE', `/v1/responses/${id}`);
    receiver.answerWith((response) => response.writeHead(204).end());
    await repeat();
    expect(receiver.bodies).toHaveLength(1);
  });

  test.each(['http://127.0.0.1', 'http://localhost', 'http://[::ffff:127.0.0.1]'])(
    'a receiver at %s gets no event without the option',
    async (origin) => {
      const { create, setUrl, receiver, clock, failures, repeat } = await start({
        mayReachInner: false,
      });
      await setUrl(`${origin}:${new URL(receiver.url).port}/`);
      await create();
      await expect
        .poll(() => {
          clock.advance(1_000);
          return failures().length;
        })
        .toBe(1);
      await repeat();
      expect(receiver.requests).toEqual([]);
    },
  );

  test('a redirection is not followed', async () => {
    const { create, receiver, failures } = await start();
    const inner = await startTaking();
    receiver.answerWith((response) => response.writeHead(307, { location: inner.url }).end());
    await create();
    await expect.poll(() => failures().length).toBe(1);
    expect([receiver.requests.length, inner.requests.length]).toEqual([1, 0]);
  });

  test('events wait for running responses, and do not keep the stream of a response open', async () => {
    const { create, upstream, receiver, clock, repeat, call } = await start();
    upstream.state.isQuick = false;
    const { id } = await create();
    await expect.poll(() => upstream.calls.length).toBe(1);
    clock.advance(MINUTE_MS / 6);
    await expect
      .poll(async () => (await call('GET', `/v1/responses/${id}`)).status)
      .toBe('in_progress');
    await repeat();
    expect(receiver.bodies).toEqual([]);
    upstream.calls[0]?.finish();
    await expect.poll(() => receiver.bodies.length).toBe(1);
  });
});

describe('webhooks that an operator sets', () => {
  const admin = async (baseUrl: string, path: string, body?: object) => {
    const response = await fetch(`${baseUrl}/admin${path}`, {
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
      headers: { 'content-type': 'application/json' },
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  let receiver: Receiver;
  beforeEach(async () => {
    receiver = await startTaking();
  });

  test("the secret is shown once, signs with the one before, and response.incomplete is verified by OpenAI's SDK", async () => {
    await withRouter({ state: 'default', mayReachInner: true }, async ({ baseUrl, key }) => {
      const path = '/projects/local/webhook';
      expect((await admin(baseUrl, path)).status).toBe(404);
      const first = await admin(baseUrl, path, { url: receiver.url });
      expect(first.body).toMatchObject({
        ...{ project: 'local', url: receiver.url, secret: expect.stringMatching(/^whsec_/) },
      });
      const second = await admin(baseUrl, path, { url: receiver.url });
      const shown = JSON.stringify([await admin(baseUrl, path), await admin(baseUrl, '/audit')]);
      expect(shown).toContain(receiver.url);
      expect(shown).not.toContain('whsec_');
      const client = new OpenAI({ baseURL: `${baseUrl}/v1`, apiKey: key });
      const { id } = await client.responses.create({
        ...{ model: 'borealis/swift-2', input: `say ${'word '.repeat(90)}` },
        ...{ background: true, max_output_tokens: 16 },
      });
      await expect.poll(() => receiver.bodies.length).toBe(1);
      for (const { body } of [first, second]) {
        expect(await eventAt(receiver, 0, String(body.secret))).toMatchObject({
          ...{ type: 'response.incomplete', data: { id } },
        });
      }
      expect((await admin(baseUrl, `${path}/delete`, {})).body).toMatchObject({ deleted: true });
      expect((await admin(baseUrl, path)).status).toBe(404);
    });
  });

  test.each([
    'http://example.com/',
    'https://127.0.0.1/',
    'https://2130706433/',
    'https://0x7f.1/',
    'https://localhost/',
    'https://a.localhost./',
    'https://metadata.google.internal/',
    'https://169.254.169.254/latest/meta-data',
    'https://10.1.2.3/',
    'https://172.31.0.1/',
    'https://192.168.0.1/',
    'https://100.64.0.1/',
    'https://[::1]/',
    'https://[fd00:ec2::254]/',
    'https://[::ffff:a9fe:a9fe]/',
    'https://[64:ff9b::a9fe:a9fe]/',
    'https://user:password@example.com/',
    'ftp://example.com/',
    'example.com',
  ])('the address %s is rejected with a 400', async (url) => {
    await withRouter({}, async ({ baseUrl }) => {
      const { status, body } = await admin(baseUrl, '/projects/local/webhook', { url });
      expect([status, (body.error as { param: string }).param]).toEqual([400, 'url']);
    });
  });
});
