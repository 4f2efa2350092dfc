import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import type { HttpEvent } from '../../../lambdas/http/read-event.ts';
import { functionUrl } from '../../runtime/events.ts';
import { createCountingClock } from '../../support/counting-clock.ts';
import { startFleet } from '../../support/fleet.ts';
import { type Act, answer, startUpstream, status } from '../../support/fleet-upstream.ts';
import { CANARIES } from '../../support/leak-watch.ts';
import { modelOn, targetAt } from '../../support/models.ts';

const AWS_REQUEST_ID = '8f507cfc-1a2b-4697-b07a-ac58fc914c95';
const STARTED_AFTER_MS = 1_000;
const RUNNING_AFTER_MS = 60_000;

/** Invokes the handler as Lambda does, with its context. */
const invoke = async (
  act: Act,
  { stream = true, path = '/v1/chat/completions', length = 1 } = {},
) => {
  const clock = createCountingClock(Date.UTC(2026, 10, 21, 12));
  const upstream = await startUpstream(act);
  const target = targetAt(upstream.url, { firstEventTimeoutMs: 10_000_000 });
  const options = { models: [modelOn([target])], clock, secret: CANARIES.upstreamKey };
  const fleet = await startFleet(options);
  onTestFinished(() => fleet.close());
  const out = new PassThrough();
  const messages = [{ role: 'user', content: 'hi '.repeat(length / 3 + 1) }];
  const body = { model: 'vendor/model', stream, messages };
  const event = functionUrl(path, { key: fleet.key, body }) as unknown as HttpEvent;
  fleet.handlers[0]?.(event, out, {
    awsRequestId: AWS_REQUEST_ID,
    getRemainingTimeInMillis: () => 900_000,
  }).catch(() => undefined);
  const said = text(out);
  const lines = () => fleet.lines().map(({ event: name, ...fields }) => [name, fields] as const);
  const find = (name: string) => lines().filter(([found]) => found === name);
  return { clock, upstream, fleet, said, find };
};

test('a request that still runs after 60 s is logged once, with both ids, key and model', async () => {
  const { clock, upstream, find, fleet } = await invoke(() => undefined);
  await expect.poll(() => upstream.attempts).toBe(1);
  clock.advance(RUNNING_AFTER_MS - 1);
  expect(find('request_running')).toEqual([]);
  clock.advance(1);
  const [[, running] = []] = find('request_running');
  expect(running).toMatchObject({
    requestId: expect.stringMatching(/^req_/),
    awsRequestId: AWS_REQUEST_ID,
    keyId: expect.stringMatching(/^key_/),
    route: '/v1/chat/completions',
    ms: RUNNING_AFTER_MS,
  });
  clock.advance(100_000);
  expect(find('request_running')).toHaveLength(1);
  clock.advance(900_000);
  await expect.poll(() => find('request').length).toBe(1);
  expect(find('request')[0]?.[1]).toMatchObject({ requestId: running?.requestId });
  expect(fleet.logText()).not.toContain(CANARIES.upstreamKey);
});

test.each([
  ['a stream', answer, { stream: true }],
  ['a whole response', status(400), { stream: false }],
  ['an unknown path', answer, { path: '/v1/nothing' }],
])('%s that ends within 60 s leaves no timer and no early line', async (_, act, options) => {
  const { clock, said, find } = await invoke(act, options);
  await said;
  await expect.poll(() => find('request').length).toBe(1);
  expect(find('request')[0]?.[1].awsRequestId).toBe(AWS_REQUEST_ID);
  await expect.poll(() => clock.waits()).not.toContain(RUNNING_AFTER_MS);
  // A refusal is written behind its response, in at most as long.
  await expect.poll(() => clock.waits()).not.toContain(STARTED_AFTER_MS);
  expect(find('request_running')).toEqual([]);
  expect(find('request_started')).toEqual([]);
});

test('a failed request has the id of its invocation in each of its lines', async () => {
  const { said, find } = await invoke(status(503), { stream: false });
  await said;
  await expect.poll(() => find('request').length).toBe(1);
  for (const name of ['request', 'request_failed']) {
    expect(find(name)[0]?.[1].awsRequestId).toBe(AWS_REQUEST_ID);
  }
});

test.each([
  ['a request that AWS ends after a second', 1, 1_000],
  ['a request with a large body that AWS ends at any moment', 1_000_000, 0],
])('%s leaves a line with the ids of its invocation and its key', async (_, length, afterMs) => {
  const { clock, upstream, find } = await invoke(() => undefined, { length });
  await expect.poll(() => upstream.attempts).toBe(1);
  if (afterMs > 0) {
    clock.advance(afterMs - 1);
    expect(find('request_started')).toEqual([]);
    clock.advance(1);
  }
  expect(find('request_started')).toEqual([
    [
      'request_started',
      {
        level: 'info',
        requestId: expect.stringMatching(/^req_/),
        awsRequestId: AWS_REQUEST_ID,
        keyId: expect.stringMatching(/^key_/),
        projectId: 'project',
        route: '/v1/chat/completions',
      },
    ],
  ]);
  clock.advance(30_000);
  expect(find('request_started')).toHaveLength(1);
  expect(find('request')).toEqual([]);
});
