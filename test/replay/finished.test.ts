import { expect, test } from 'vitest';
import { minuteOf } from '../../lambdas/support/clock.ts';
import { openSocketsAt } from '../support/open-sockets.ts';
import { startReplayBench, textOf } from './replay-bench.ts';

const SHAPES = [
  { family: 'chat', stream: true },
  { family: 'chat', stream: false },
  { family: 'messages', stream: true },
  { family: 'messages', stream: false },
  { family: 'responses', stream: true },
  { family: 'responses', stream: false },
] as const;

const TEXT = 'Answer 1: näive 𝄞 words only';

test.each(SHAPES)(
  'a repeat of a finished request gets the same bytes, free, from another process too: $family, streamed $stream',
  async (shape) => {
    const { ask, upstream, fleet } = await startReplayBench();
    const first = await ask(shape);
    expect([first.status, textOf(first)]).toEqual([200, TEXT]);
    expect(first.headers['idempotent-replayed']).toBeUndefined();
    for (const [router, encoding] of [0, 1].flatMap(
      (at) => [[at, 'gzip'] as const, [at, '']] as const,
    )) {
      const again = await ask({ ...shape, router, headers: { 'accept-encoding': encoding } });
      expect([again.status, again.text]).toEqual([200, first.text]);
      expect('content-encoding' in again.headers).toBe(
        encoding === 'gzip' && (shape.stream || first.text.length >= 1_024),
      );
      expect(again.headers['idempotent-replayed']).toBe('true');
      expect(again.headers['idempotent-request-id']).toBe(first.headers['x-request-id']);
      expect(again.headers['x-request-id']).not.toBe(first.headers['x-request-id']);
      expect(again.headers['content-type']).toBe(first.headers['content-type']);
      expect(again.headers['x-quota-remaining']).toBe(first.headers['x-quota-remaining']);
    }
    expect([upstream.calls.length, await fleet.charged()]).toEqual([1, 1]);
  },
);

test('repeats count as free calls: with 600 of them in a minute the next one gets a 429', async () => {
  const { ask, clock, fleet } = await startReplayBench();
  await fleet.stores.plans.putPlan({ id: 'fleet', rpm: 60, quota: 1_000, period: 'month' });
  const { text } = await ask();
  const minute = minuteOf(clock.now());
  const admitFree = () => fleet.stores.meters.admitFree(fleet.ids.meterId, minute, 600);
  await Promise.all(Array.from({ length: 599 }, admitFree));
  expect((await ask()).text).toBe(text);
  for (const router of [0, 1]) expect((await ask({ router })).status).toBe(429);
  clock.advance(60_000);
  expect((await ask()).text).toBe(text);
});

test('requests without an idempotency key, or with another one, are separate requests', async () => {
  const { ask, fleet } = await startReplayBench();
  const texts = [];
  for (const idempotencyKey of [null, null, 'a', 'b']) {
    texts.push(textOf(await ask({ idempotencyKey })));
  }
  expect(new Set(texts).size).toBe(4);
  expect(await fleet.charged()).toBe(4);
});

test('the idempotency key of another meter is another key', async () => {
  const { ask, fleet, upstream } = await startReplayBench();
  const mine = await ask();
  const theirs = await ask({ key: fleet.otherKey });
  expect(theirs.headers['idempotent-replayed']).toBeUndefined();
  expect(theirs.text).not.toBe(mine.text);
  expect(upstream.calls).toHaveLength(2);
});

test('a response is kept for 24 hours and then generated again', async () => {
  const { ask, clock, upstream } = await startReplayBench();
  const first = await ask();
  clock.advance(24 * 3_600_000 - 1_000);
  expect((await ask({ router: 1 })).text).toBe(first.text);
  clock.advance(2_000);
  expect((await ask({ router: 1 })).headers['idempotent-replayed']).toBeUndefined();
  expect(upstream.calls).toHaveLength(2);
});

test.each([
  ['request body', { prompt: 'another' }],
  ['model', { model: 'vendor/other' }],
  ['route', { family: 'messages' }],
] as const)(
  'an idempotency key that is reused with another %s gets a 422 that names it, free',
  async (name, change) => {
    const { ask, fleet, upstream } = await startReplayBench();
    await ask();
    for (const router of [0, 1]) {
      const reused = await ask({ ...change, router });
      expect(reused.status).toBe(422);
      expect(reused.headers['x-should-retry']).toBe('false');
      const { error } = JSON.parse(reused.text) as { error: { type: string; message: string } };
      expect(error.type).toBe('invalid_request_error');
      expect(error.message).toContain(`another ${name}`);
    }
    expect([upstream.calls.length, await fleet.charged()]).toEqual([1, 1]);
  },
);

test.each(['', 'x'.repeat(256), 'ü'])(
  'an idempotency key that is empty, too long or not printable gets a 400: %j',
  async (idempotencyKey) => {
    const { ask, upstream } = await startReplayBench();
    const { status, text } = await ask({ headers: { 'idempotency-key': idempotencyKey } });
    expect([status, text]).toEqual([400, expect.stringContaining('Idempotency-Key')]);
    expect(upstream.calls).toHaveLength(0);
  },
);

test.each([true, false])(
  'a failure is not kept: the repeat runs and is charged, streamed %s',
  async (stream) => {
    const { ask, fleet, upstream, untilCalls, lastCall } = await startReplayBench();
    upstream.state.isQuick = false;
    const asked = ask({ stream });
    await untilCalls(1);
    lastCall().fail();
    const failed = await asked;
    expect([failed.status === 200 ? failed.text.includes('event: error') : true]).toEqual([true]);
    expect(await fleet.charged()).toBe(0);
    upstream.state.isQuick = true;
    const again = await ask({ stream, router: 1 });
    expect(again.headers['idempotent-replayed']).toBeUndefined();
    expect([textOf(again), await fleet.charged()]).toEqual(['Answer 2: näive 𝄞 words only', 1]);
  },
);

test('a revoked key cannot read a kept response', async () => {
  const { ask, fleet } = await startReplayBench();
  await ask();
  const { keyId, meterId } = fleet.ids;
  await fleet.stores.meters.revokeKey(meterId, keyId, 0);
  expect((await ask()).status).toBe(401);
});

test.each([true, false])(
  'a response whose first caller disconnected is finished, charged once and kept, streamed %s',
  async (stream) => {
    const { ask, askAndHold, fleet, upstream, untilCalls, lastCall } = await startReplayBench();
    upstream.state.isQuick = false;
    const { leave } = askAndHold({ stream });
    await untilCalls(1);
    lastCall().begin();
    leave();
    await expect.poll(() => openSocketsAt(fleet.urls[0] ?? '').length).toBe(0);
    expect(lastCall().isClosed()).toBe(false);
    const again = ask({ stream });
    lastCall().finish();
    expect(textOf(await again)).toBe(TEXT);
    expect(textOf(await ask({ stream, router: 1 }))).toBe(TEXT);
    expect([upstream.calls.length, await fleet.charged()]).toEqual([1, 1]);
  },
);

test('the access-log line of a keyed request whose client disconnected has the tokens of its whole response', async () => {
  const { askAndHold, fleet, upstream, untilCalls, lastCall } = await startReplayBench();
  upstream.state.isQuick = false;
  const { opened, leave } = askAndHold();
  await untilCalls(1);
  lastCall().begin();
  await opened;
  leave();
  await expect.poll(() => openSocketsAt(fleet.urls[0] ?? '').length).toBe(0);
  const lines = () => fleet.lines().filter(({ event }) => event === 'request');
  expect(lines()).toEqual([]);
  lastCall().finish();
  await expect.poll(() => lines().length).toBe(1);
  expect(lines()[0]).toMatchObject({ outcome: 'finished', inputTokens: 7, outputTokens: 5 });
});
