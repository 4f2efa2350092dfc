import { randomBytes } from 'node:crypto';
import { text as readText } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { createKeyLifecycle } from '../../lambdas/keys/lifecycle.ts';
import {
  CALLER_PROTOCOLS,
  type CallerProtocolName,
} from '../../lambdas/protocols/protocol-name.ts';
import { send } from '../support/send.ts';
import { assertWellFormed } from '../support/translate.ts';
import { passing, startReplayBench } from './replay-bench.ts';

const startRunning = async () => {
  const bench = await startReplayBench();
  bench.upstream.state.isQuick = false;
  const cancel = (id: string, { router = 0, key = bench.fleet.key } = {}) =>
    send(bench.fleet.urls[router] ?? '', `/v1/requests/${id}/cancel`, {
      method: 'POST',
      headers: { 'x-api-key': key },
    });
  /** A stream whose first word was sent, and its request id. */
  const startStream = async (
    idempotencyKey: string | null = null,
    family: CallerProtocolName = 'chat',
  ) => {
    const { opened } = bench.askAndHold({ idempotencyKey, family });
    await bench.untilCalls(1);
    bench.lastCall().begin();
    const [response] = await opened;
    return { text: readText(response), id: String(response.headers['x-request-id']) };
  };
  return { ...bench, cancel, startStream };
};

test.each([0, 1])(
  'cancelling a stream that runs in process 0 through process %s ends it within 5 s with an error event, for one unit',
  async (router) => {
    const bench = await startRunning();
    const { cancel, clock, fleet, startStream, lastCall } = bench;
    const { id, text } = await startStream();
    const startedAt = clock.now();
    const cancelled = await passing(bench, cancel(id, { router }));
    expect([cancelled.status, JSON.parse(cancelled.text)]).toEqual([
      200,
      { id, object: 'request', status: 'cancelled' },
    ]);
    expect(clock.now() - startedAt).toBeLessThanOrEqual(5_000);
    expect(await text).toMatch(/event: error\ndata: .*The request was cancelled\./);
    await expect.poll(() => lastCall().isClosed()).toBe(true);
    expect(await fleet.charged()).toBe(1);
  },
);

test.each(CALLER_PROTOCOLS)(
  'a stream of %s that is cancelled keeps the form of its protocol to the end',
  async (family) => {
    const { cancel, startStream } = await startRunning();
    const { id, text } = await startStream(null, family);
    expect((await cancel(id)).status).toBe(200);
    expect(assertWellFormed(family, await text)).toMatchObject({ isError: true });
  },
);

test.each(['chatcmpl-', 'msg_', 'resp_'])(
  'a generation is cancelled by the id of its response, which begins with %s',
  async (prefix) => {
    const { cancel, startStream } = await startRunning();
    const { id, text } = await startStream();
    const { status, text: reply } = await cancel(id.replace('req_', prefix));
    expect([status, JSON.parse(reply)]).toMatchObject([200, { id }]);
    expect(await text).toContain('The request was cancelled.');
  },
);

test('a whole response that is cancelled is a 499 and free', async () => {
  const { ask, cancel, clock, fleet, lastCall, untilCalls } = await startRunning();
  const asked = ask({ stream: false });
  await untilCalls(1);
  lastCall().begin();
  const idOfRunning = () => fleet.lines().find(({ event }) => event === 'request_running');
  await expect
    .poll(() => {
      // The log names a request that runs longer than 65 s; each word restarts the idle timeout.
      lastCall().proceed();
      clock.advance(500);
      return idOfRunning();
    })
    .toBeDefined();
  const id = String(idOfRunning()?.requestId);
  expect((await cancel(id)).status).toBe(200);
  const { status, headers } = await asked;
  expect([status, headers['x-should-retry']]).toEqual([499, 'false']);
  expect(await fleet.charged()).toBe(0);
});

test('a repeat of a cancelled request with an idempotency key runs again', async () => {
  const { ask, cancel, startStream, upstream, fleet } = await startRunning();
  const { id, text } = await startStream('key-1');
  expect((await cancel(id)).status).toBe(200);
  expect(await text).toContain('event: error');
  upstream.state.isQuick = true;
  expect((await ask()).text).toContain('Answer 2');
  expect(await fleet.charged()).toBe(2);
});

test('a request of another project, a finished one and an unknown id are not found at once', async () => {
  const { cancel, clock, fleet, startStream, lastCall, upstream } = await startRunning();
  const { id, text } = await startStream();
  const startedAt = clock.now();
  for (const router of [0, 1]) {
    expect((await cancel(id, { key: fleet.otherKey, router })).status).toBe(404);
  }
  lastCall().finish();
  expect(await text).toContain('only');
  await expect.poll(async () => (await cancel(id)).status).toBe(404);
  for (const unknown of [id.replace(/.{7}$/, 'Unknown'), 'req_1', 'a%2Fb']) {
    for (const router of [0, 1]) expect((await cancel(unknown, { router })).status).toBe(404);
  }
  expect(clock.now()).toBe(startedAt);
  expect(upstream.calls).toHaveLength(1);
});

test('of 30 cancellations of a request at once one waits for its process, and the others get 202 at once', async () => {
  const bench = await startRunning();
  const { cancel, clock, startStream } = bench;
  const { id, text } = await startStream();
  const startedAt = clock.now();
  const statuses: number[] = [];
  const calls = Array.from({ length: 30 }, async () => {
    const { status, text } = await cancel(id, { router: 1 });
    statuses.push(status);
    return JSON.parse(text);
  });
  await expect.poll(() => statuses).toEqual(Array(29).fill(202));
  expect(clock.now()).toBe(startedAt);
  const replies = await passing(bench, Promise.all(calls));
  expect(replies.filter(({ status }) => status === 'cancelling')).toHaveLength(29);
  expect(replies.filter(({ status }) => status === 'cancelled')).toHaveLength(1);
  expect(await text).toContain('The request was cancelled.');
});

test('a generation is cancelled through another process with any key of its project, of which there are many', async () => {
  const bench = await startRunning();
  const { cancel, clock, fleet, startStream } = bench;
  const lifecycle = createKeyLifecycle({ ...fleet.stores, clock, randomBytes });
  const create = () => lifecycle.create({ projectId: 'project', planId: 'fleet' });
  const keys = await Promise.all(Array.from({ length: 60 }, create));
  const { id, text } = await startStream();
  const cancelled = await passing(bench, cancel(id, { key: keys[0]?.key ?? '', router: 1 }));
  expect(cancelled.status).toBe(200);
  expect(await text).toContain('The request was cancelled.');
});
