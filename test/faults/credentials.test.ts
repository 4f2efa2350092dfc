import { request } from 'node:http';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import type { HttpEvent } from '../../lambdas/http/read-event.ts';
import type { Trouble } from '../metering/dynamo-proxy.ts';
import { functionUrl } from '../runtime/events.ts';
import { createCountingClock } from '../support/counting-clock.ts';
import { startEnvironments } from '../support/environments.ts';
import { CANARIES } from '../support/leak-watch.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { startPromptedUpstream } from '../support/prompted-upstream.ts';
import { send } from '../support/send.ts';

/** Seconds between two requests; each of four environments gets one every 5 s. */
const STEP = 1.25;
const NEW_KEY = `${CANARIES.upstreamKey}-new`;

/** Environments on one secret and one provider that accepts one key. */
const setUp = async (size: number, credentials: Record<string, string>, acceptedKey: string) => {
  const clock = createCountingClock(Date.UTC(2026, 10, 21, 12));
  const upstream = await startPromptedUpstream();
  upstream.state.acceptedKey = acceptedKey;
  const fleet = await startEnvironments({
    models: [modelOn([targetAt(upstream.url)])],
    clock,
    offsets: Array.from({ length: size }, () => 0),
    credentials,
  });
  onTestFinished(async () => {
    await fleet.close();
    await upstream.close();
  });
  const tenants = [await fleet.createTenant(), await fleet.createTenant()];
  let turn = 0;
  const ask = async (environment: number) => {
    turn += 1;
    const { url = '' } = fleet.environments[environment] ?? {};
    const { status, text } = await send(url, '/v1/chat/completions', {
      method: 'POST',
      headers: { 'x-api-key': tenants[turn % 2]?.key ?? '' },
      body: JSON.stringify({ model: 'vendor/model', messages: [{ role: 'user', content: 'hi' }] }),
    });
    return { status, text };
  };
  /** One request every 1.25 s, in turns; returns what each environment answered, and when. */
  const askForSeconds = async (seconds: number) => {
    const seen: { environment: number; second: number; status: number }[] = [];
    for (let second = 0; second < seconds; second += STEP) {
      const environment = (second / STEP) % size;
      seen.push({ environment, second, status: (await ask(environment)).status });
      clock.advance(STEP * 1_000);
    }
    return seen;
  };
  return { clock, upstream, fleet, tenants, ask, askForSeconds };
};

type Lab = Awaited<ReturnType<typeof setUp>>;

/** A cold environment whose reads of the secret hang, and a tenant. */
const withHangingSecret = ({ fleet, tenants }: Lab) => {
  const [environment] = fleet.environments;
  const [tenant] = tenants;
  if (!environment || !tenant) throw new Error('no environment');
  environment.secrets.decide(() => 'silence');
  const body = { model: 'vendor/model', messages: [{ role: 'user', content: 'hi' }] };
  const lines = () => environment.lines().filter(({ event }) => event === 'request');
  return { environment, tenant, body, lines };
};

test('the first request of an environment reads the secret once, while its unit is reserved', async () => {
  const { fleet, ask } = await setUp(1, { secret: NEW_KEY }, NEW_KEY);
  const [environment] = fleet.environments;
  if (!environment) throw new Error('no environment');
  const reserved = Promise.withResolvers<Trouble>();
  environment.dynamo.decide(({ operation }) =>
    operation === 'UpdateItem' ? reserved.promise : 'none',
  );
  const answer = ask(0);
  await expect.poll(() => environment.secrets.calls.length).toBe(1);
  reserved.resolve('none');
  expect((await answer).status).toBe(200);
  expect(environment.secrets.calls).toHaveLength(1);
});

const secondsOfFailures = (seen: { status: number; second: number }[]) =>
  seen.filter(({ status }) => status !== 200).map(({ second }) => second);

test.each([
  { when: 'a placeholder', credentials: { secret: 'placeholder' } },
  { when: 'a secret without the field', credentials: { other: 'value' } },
  { when: 'a value that no header can carry', credentials: { secret: 'geheim…' } },
])(
  'an environment that read $when serves within 30 s of the repair and harms no other',
  async ({ credentials }) => {
    const lab = await setUp(2, credentials, CANARIES.upstreamKey);
    expect((await lab.ask(0)).status).toBeGreaterThanOrEqual(500);
    await lab.fleet.putCredentials({ secret: CANARIES.upstreamKey });
    const seen = await lab.askForSeconds(40);
    expect(secondsOfFailures(seen.filter(({ environment }) => environment === 1))).toEqual([]);
    expect(Math.max(0, ...secondsOfFailures(seen))).toBeLessThan(30);
  },
);

test('four environments serve within 30 s after a revoked credential was replaced', async () => {
  const lab = await setUp(4, { secret: CANARIES.upstreamKey }, CANARIES.upstreamKey);
  expect(secondsOfFailures(await lab.askForSeconds(5))).toEqual([]);
  lab.clock.advance(60_000);
  lab.upstream.state.acceptedKey = NEW_KEY;
  expect((await lab.ask(0)).status).toBe(500);
  lab.clock.advance(8_000);
  await lab.fleet.putCredentials({ secret: NEW_KEY });
  const seen = await lab.askForSeconds(40);
  // Three were idle: the first request of each reads the secret again and succeeds.
  expect(secondsOfFailures(seen.filter(({ environment }) => environment > 0))).toEqual([]);
  expect(Math.max(0, ...secondsOfFailures(seen))).toBeLessThan(30);
});

test('four environments that all met the revoked credential serve within 30 s of the repair', async () => {
  const lab = await setUp(4, { secret: CANARIES.upstreamKey }, NEW_KEY);
  expect(secondsOfFailures(await lab.askForSeconds(40))).toHaveLength(32);
  await lab.fleet.putCredentials({ secret: NEW_KEY });
  const seen = await lab.askForSeconds(40);
  expect(Math.max(0, ...secondsOfFailures(seen))).toBeLessThan(30);
});

test('a Secrets Manager that hangs delays no request while a credential is known', async () => {
  const { clock, fleet, ask } = await setUp(
    1,
    { secret: CANARIES.upstreamKey },
    CANARIES.upstreamKey,
  );
  expect((await ask(0)).status).toBe(200);
  const [environment] = fleet.environments;
  environment?.secrets.decide(() => 'silence');
  clock.advance(16 * 60_000);
  expect((await ask(0)).status).toBe(200);
  await expect.poll(() => environment?.secrets.calls.length).toBeGreaterThan(1);
  expect((await ask(0)).status).toBe(200);
});

test('a first read of the secret that hangs ends as a 503 after 4 s, and is tried again', async () => {
  const { clock, fleet, ask } = await setUp(
    1,
    { secret: CANARIES.upstreamKey },
    CANARIES.upstreamKey,
  );
  const [environment] = fleet.environments;
  environment?.secrets.decide(() => 'silence');
  const asked = ask(0);
  await expect.poll(() => environment?.secrets.calls.length).toBe(1);
  clock.advance(4_000);
  expect((await asked).status).toBe(503);
  expect(environment?.lines().some(({ event }) => event === 'request')).toBe(true);
  environment?.secrets.decide(() => 'none');
  clock.advance(1_000);
  expect((await ask(0)).status).toBe(200);
});

test.each([true, false])(
  'the deadline of a request ends a read of the secret that hangs, streamed: %s',
  async (stream) => {
    const lab = await setUp(1, { secret: CANARIES.upstreamKey }, CANARIES.upstreamKey);
    const { environment, tenant, body, lines } = withHangingSecret(lab);
    const event = functionUrl('/v1/chat/completions', {
      key: tenant.key,
      body: { ...body, stream },
    });
    const out = new PassThrough();
    const context = { getRemainingTimeInMillis: () => 12_500 };
    const handled = environment.handler(event as unknown as HttpEvent, out, context);
    const said = text(out);
    await expect.poll(lab.clock.waits).toContain(2_500);
    await expect.poll(() => environment.secrets.calls).toHaveLength(1);
    lab.clock.advance(2_499);
    expect(lines()).toEqual([]);
    lab.clock.advance(1);
    await handled;
    expect(JSON.parse(await said)).toMatchObject({ error: { type: 'api_error' } });
    expect(lines()).toEqual([expect.objectContaining({ status: 504, ms: 2_500 })]);
    expect(await tenant.charged()).toBe(0);
    environment.secrets.decide(() => 'none');
    lab.clock.advance(5_000);
    expect((await lab.ask(0)).status).toBe(200);
    await expect.poll(lab.clock.waits).toEqual([]);
  },
);

test.each([true, false])(
  'a client that disconnects ends its wait for a secret that hangs, free of charge, streamed: %s',
  async (stream) => {
    const lab = await setUp(1, { secret: CANARIES.upstreamKey }, CANARIES.upstreamKey);
    const { environment, tenant, body, lines } = withHangingSecret(lab);
    const sent = request(`${environment.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'x-api-key': tenant.key },
    }).on('error', () => undefined);
    sent.end(JSON.stringify({ ...body, stream }));
    await expect.poll(tenant.charged).toBe(1);
    await expect.poll(() => environment.secrets.calls).toHaveLength(1);
    sent.destroy();
    await expect.poll(lines).toEqual([expect.objectContaining({ status: 499 })]);
    expect(await tenant.charged()).toBe(0);
    // The read itself serves the next request, and ends at its own timeout.
    environment.secrets.decide(() => 'none');
    lab.clock.advance(5_000);
    expect((await lab.ask(0)).status).toBe(200);
    await expect.poll(lab.clock.waits).toEqual([]);
  },
);
