import { createServer } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Listening, listen } from '../../local/loopback.ts';
import { withBystander } from '../support/bystander.ts';
import { createCountingClock } from '../support/counting-clock.ts';
import { type Environments, startEnvironments } from '../support/environments.ts';
import { answer, status } from '../support/fleet-upstream.ts';
import { CANARIES } from '../support/leak-watch.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { send } from '../support/send.ts';

const clock = createCountingClock(Date.UTC(2026, 10, 21, 12));
let act = answer;
const credentialsSent = new Set<string | undefined>();
let upstream: Listening;
let fleet: Environments;

beforeAll(async () => {
  upstream = await listen(
    createServer((request, response) => {
      credentialsSent.add(request.headers.authorization);
      request.resume().once('end', () => act(response));
    }),
  );
  fleet = await startEnvironments({ models: [modelOn([targetAt(upstream.url)])], clock });
});
afterAll(async () => {
  await fleet.close();
  await upstream.close();
});

const ask = (key: string, environment = 0) =>
  send(fleet.environments[environment]?.url ?? '', '/v1/chat/completions', {
    method: 'POST',
    headers: { 'x-api-key': key },
    body: JSON.stringify({ model: 'vendor/model', messages: [{ role: 'user', content: 'hi' }] }),
  });

test('four environments share one meter, and each reads the secret once', async () => {
  act = answer;
  const { key, charged } = await fleet.createTenant();
  for (const environment of [0, 1, 2, 3]) {
    expect((await ask(key, environment)).status).toBe(200);
  }
  expect(await charged()).toBe(4);
  expect(fleet.environments.map(({ secrets }) => secrets.calls.length)).toEqual([1, 1, 1, 1]);
  expect([...credentialsSent]).toEqual([`Bearer ${CANARIES.upstreamKey}`]);
});

test('the second tenant of a fault test counts its failures and its longest gap', async () => {
  const { key } = await fleet.createTenant();
  const failing = { from: 3, to: 4 };
  const account = await withBystander({
    clock,
    seconds: 8,
    ask: () => ask(key, 1),
    act: async (second) => {
      act = second >= failing.from && second <= failing.to ? status(500) : answer;
    },
  });
  expect(account).toEqual({
    asked: 8,
    succeeded: 6,
    successRate: 0.75,
    // A busy machine may answer after the manual clock has moved on.
    slowestMs: expect.any(Number),
    longestGapMs: 3_000,
    statuses: { 200: 6, 502: 2 },
  });
});
