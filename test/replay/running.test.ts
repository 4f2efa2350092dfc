import { PassThrough } from 'node:stream';
import { text as readText } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { CALLER_PROTOCOLS } from '../../lambdas/protocols/protocol-name.ts';
import { CANARIES } from '../support/leak-watch.ts';
import { assertWellFormed } from '../support/translate.ts';
import { passing, startReplayBench, textOf } from './replay-bench.ts';

/** Ten seconds in one: a busy machine opens the second request before the silent first one is given up. */
const SLOWLY_MS = 50;
/** Of a lease of 30 seconds. */
const RENEWAL_MS = 8_000;
const TEXT = 'Answer 1: näive 𝄞 words only';
const startRunning = async () => {
  const bench = await startReplayBench();
  bench.upstream.state.isQuick = false;
  return bench;
};

test('repeats of a running stream in the same process follow it live', async () => {
  const bench = await startRunning();
  const { ask, askAndHold, untilCalls, lastCall, upstream, fleet } = bench;
  const first = ask();
  await untilCalls(1);
  const { opened } = askAndHold();
  lastCall().begin();
  const [response] = await opened;
  expect(response.headers['idempotent-replayed']).toBe('true');
  const [chunk] = (await response.iterator({ destroyOnReturn: false }).next()).value
    ? ['read']
    : [];
  expect(chunk).toBe('read');
  const second = ask();
  lastCall().finish();
  expect((await second).text).toBe((await first).text);
  expect([upstream.calls.length, await fleet.charged()]).toEqual([1, 1]);
});

test.each([true, false])(
  'repeats of a running request in other processes wait and get its response, streamed %s',
  async (stream) => {
    const bench = await startRunning();
    const { ask, untilCalls, lastCall, upstream, fleet } = bench;
    const first = ask({ stream });
    await untilCalls(1);
    const repeats = [1, 1, 0, 1].map((router) => ask({ stream, router }));
    lastCall().begin();
    await passing(bench, new Promise((resolve) => setTimeout(resolve, 100)), 50);
    lastCall().finish();
    const texts = (await passing(bench, Promise.all([first, ...repeats]))).map(({ text }) => text);
    expect(new Set(texts).size).toBe(1);
    expect(textOf({ text: texts[0] ?? '' })).toBe(TEXT);
    expect([upstream.calls.length, await fleet.charged()]).toEqual([1, 1]);
  },
);

test('a repeat with another body while the first request runs elsewhere gets a 422', async () => {
  const { ask, untilCalls, lastCall } = await startRunning();
  const first = ask();
  await untilCalls(1);
  for (const router of [0, 1]) expect((await ask({ router, prompt: 'else' })).status).toBe(422);
  lastCall().finish();
  expect((await first).status).toBe(200);
});

test.each([true, false])(
  'a repeat whose invocation ends before the first request does gets a 503 that says so, streamed %s',
  async (stream) => {
    const { fleet, ask, untilCalls, lastCall } = await startRunning();
    const first = ask({ stream });
    await untilCalls(1);
    const content = `${CANARIES.prompt} hi`;
    const turns = [{ role: 'user', content }];
    const asked = { model: 'vendor/model', stream, max_tokens: 100_000, messages: turns };
    const headers = {
      'content-type': 'application/json',
      ...{ 'x-api-key': fleet.key, 'idempotency-key': 'key-1' },
    };
    const request = {
      ...{ method: 'POST', path: '/v1/chat/completions', query: {}, headers, source: '' },
      body: JSON.stringify(asked),
    };
    const answer = new PassThrough();
    const said = readText(answer);
    await fleet.handlers[1]?.(request, answer, { getRemainingTimeInMillis: () => 9_000 });
    expect(await said).toContain('The first request with this Idempotency-Key is still running.');
    lastCall().finish();
    expect((await first).status).toBe(200);
    expect(fleet.lines().filter(({ event }) => event === 'request')).toMatchObject([
      { status: 503 },
      { status: 200 },
    ]);
    expect(await fleet.charged()).toBe(1);
  },
);

test('a stream that waits for another process has heartbeats from 10 s on', async () => {
  const bench = await startRunning();
  const { ask, askAndHold, untilCalls, lastCall } = bench;
  const first = ask();
  await untilCalls(1);
  lastCall().begin();
  const { opened } = askAndHold({ router: 1 });
  const [response] = await passing(bench, opened, SLOWLY_MS);
  expect(response.statusCode).toBe(200);
  let text = '';
  response.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  await expect
    .poll(() => {
      bench.clock.advance(SLOWLY_MS);
      return text.match(/: waiting/g)?.length ?? 0;
    })
    .toBeGreaterThan(1);
  lastCall().finish();
  await passing(bench, first);
  await passing(bench, new Promise((resolve) => response.once('end', resolve)));
  expect(textOf({ text })).toBe(TEXT);
});

test.each(CALLER_PROTOCOLS)(
  'a stream of %s that waits for another process and fails behind heartbeats ends with an error event',
  async (family) => {
    const bench = await startRunning();
    const { ask, askAndHold, untilCalls, lastCall, upstream } = bench;
    const first = ask({ family });
    await untilCalls(1);
    const { opened } = askAndHold({ family, router: 1 });
    const [response] = await passing(bench, opened, SLOWLY_MS);
    const repeat = readText(response);
    upstream.state.refusesNext = 1;
    lastCall().refuse(400);
    expect(assertWellFormed(family, (await passing(bench, first)).text)).toMatchObject({
      isError: true,
    });
    expect(assertWellFormed(family, await passing(bench, repeat))).toMatchObject({ isError: true });
  },
);

test('if the first request fails elsewhere, one of those that wait runs it again, for one unit', async () => {
  const bench = await startRunning();
  const { ask, untilCalls, lastCall, upstream, fleet } = bench;
  const first = ask({ stream: false });
  await untilCalls(1);
  const repeats = [1, 1].map((router) => ask({ stream: false, router }));
  await passing(bench, new Promise((resolve) => setTimeout(resolve, 50)), 50);
  upstream.state.isQuick = true;
  lastCall().refuse(400);
  expect((await first).status).toBe(400);
  const texts = (await passing(bench, Promise.all(repeats))).map(textOf);
  expect(texts).toEqual(Array(2).fill('Answer 2: näive 𝄞 words only'));
  expect([upstream.calls.length, await fleet.charged()]).toEqual([2, 1]);
});

const ROUTERS = 4;

test.each([
  { stream: true, isQuick: false },
  { stream: false, isQuick: false },
  { stream: true, isQuick: true },
  { stream: false, isQuick: true },
])(
  '24 callers of four processes with one idempotency key share one empty response, free: %j',
  async ({ stream, isQuick }) => {
    const bench = await startReplayBench({ size: ROUTERS });
    const { ask, clock, untilCalls, lastCall, upstream, fleet } = bench;
    Object.assign(upstream.state, { isQuick, isEmpty: true });
    const callers = Array.from({ length: 24 }, (_, n) => ask({ stream, router: n % ROUTERS }));
    await untilCalls(1);
    if (!isQuick) {
      await passing(bench, new Promise((resolve) => setTimeout(resolve, 100)), 50);
      lastCall().finish();
    }
    const sent = await passing(bench, Promise.all(callers));
    expect([...new Set(sent.map(({ status }) => status))]).toEqual([200]);
    expect(sent.map(textOf)).toEqual(Array(24).fill(''));
    expect([upstream.calls.length, await fleet.charged()]).toEqual([1, 0]);
    // A later repeat runs.
    clock.advance(5_000);
    Object.assign(upstream.state, { isQuick: true, isEmpty: false });
    expect(textOf(await ask({ stream, router: 1 }))).toBe('Answer 2: näive 𝄞 words only');
    expect([upstream.calls.length, await fleet.charged()]).toEqual([2, 1]);
  },
);

test('a request that runs for minutes keeps its lease', async () => {
  const bench = await startRunning();
  const { ask, clock, untilCalls, lastCall, upstream } = bench;
  const first = ask();
  await untilCalls(1);
  lastCall().begin();
  const repeat = ask({ router: 1 });
  // The next renewal is planned once the last one is written.
  for (let renewal = 0; renewal < 6; renewal += 1) {
    await expect.poll(() => clock.hasTimerOf(RENEWAL_MS)).toBe(true);
    clock.advance(RENEWAL_MS);
  }
  lastCall().finish();
  expect((await passing(bench, repeat)).text).toContain('näive');
  await first;
  expect(upstream.calls).toHaveLength(1);
});
