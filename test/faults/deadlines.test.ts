import type { ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { HttpEvent } from '../../lambdas/http/read-event.ts';
import {
  CALLER_PROTOCOLS,
  type CallerProtocolName,
} from '../../lambdas/protocols/protocol-name.ts';
import { functionUrl } from '../runtime/events.ts';
import { createCountingClock } from '../support/counting-clock.ts';
import { startFleet } from '../support/fleet.ts';
import { type Act, begin, startUpstream } from '../support/fleet-upstream.ts';
import { CANARIES } from '../support/leak-watch.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { parseJson } from '../support/sse-text.ts';
import { assertWellFormed, chatWire } from '../support/translate.ts';

const PATHS = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
};
const TURNS = [{ role: 'user', content: 'hi' }];
const WORD = chatWire(
  [{ choices: [{ index: 0, delta: { content: ' x' }, finish_reason: null }] }],
  '',
);
/** Below the minute of silence that ends an answer. */
const TRICKLE_MS = 50_000;
const IDLE_MS = 60_000;

/** A router that has `remainingMs` for a request, as a platform tells it, and one target. */
const startTimed = async (act: Act, remainingMs: number) => {
  const counting = createCountingClock(Date.UTC(2026, 10, 21, 12));
  let chunksAwaited = 0;
  const clock: typeof counting = {
    ...counting,
    after: (ms, action) => {
      if (ms === IDLE_MS) chunksAwaited += 1;
      return counting.after(ms, action);
    },
  };
  const upstream = await startUpstream(act);
  const target = targetAt(upstream.url, { firstEventTimeoutMs: 10_000_000 });
  const fleet = await startFleet({
    models: [modelOn([target])],
    clock,
    secret: CANARIES.upstreamKey,
  });
  onTestFinished(() => fleet.close());
  const ask = (family: CallerProtocolName, stream: boolean): Promise<string> => {
    const out = new PassThrough();
    const conversation =
      family === 'responses' ? { input: TURNS } : { max_tokens: 100, messages: TURNS };
    const body = { model: 'vendor/model', stream, ...conversation };
    const event = functionUrl(PATHS[family], { key: fleet.key, body }) as unknown as HttpEvent;
    const context = { getRemainingTimeInMillis: () => remainingMs };
    fleet.handlers[0]?.(event, out, context).catch(() => undefined);
    return text(out);
  };
  const lines = () => fleet.lines().filter(({ event }) => event === 'request');
  return { clock, upstream, fleet, ask, lines, chunksAwaited: () => chunksAwaited };
};

const ENDS = {
  chat: '"finish_reason":"length"',
  messages: '"stop_reason":"max_tokens"',
  responses: '"reason":"max_output_tokens"',
};

const expectCut = (family: CallerProtocolName, stream: boolean, said: string, words: string) => {
  expect(said).toContain(ENDS[family]);
  if (!stream) return expect(said).toContain(words);
  const { isError, ...read } = assertWellFormed(family, said);
  expect(isError).toBe(false);
  return expect('text' in read ? read.text : read.blocks.map(({ text }) => text).join('')).toBe(
    words,
  );
};

const GRID = CALLER_PROTOCOLS.flatMap((family) =>
  [true, false].map((stream) => [family, stream] as const),
);
const PLATFORM = {
  name: "the platform's end",
  remainingMs: 300_000,
  whole: 290_000,
  streamed: 290_000,
};
const TOTAL = { name: 'the longest time', remainingMs: 900_000, whole: 590_000, streamed: 885_000 };

describe.each([PLATFORM, TOTAL])('at $name', ({ remainingMs, whole, streamed }) => {
  test.each(GRID)('an answer that trickles ends well: %s, streamed: %s', async (family, stream) => {
    const held: ServerResponse[] = [];
    const act: Act = (response) => {
      held.push(response);
      begin(response);
    };
    const { clock, upstream, fleet, ask, lines, chunksAwaited } = await startTimed(
      act,
      remainingMs,
    );
    const started = clock.now();
    const said = ask(family, stream);
    await expect.poll(chunksAwaited).toBeGreaterThanOrEqual(2);
    const limit = stream ? streamed : whole;
    let words = 'Hello';
    while (clock.now() - started + TRICKLE_MS < limit) {
      clock.advance(TRICKLE_MS);
      const before = chunksAwaited();
      held[0]?.write(WORD);
      words += ' x';
      await expect.poll(chunksAwaited).toBe(before + 1);
    }
    clock.set(started + limit - 1);
    expect(lines()).toEqual([]);
    clock.advance(1);
    expectCut(family, stream, await said, words);
    await expect.poll(() => upstream.sockets.size).toBe(0);
    expect(lines()).toMatchObject([{ status: 200, outcome: 'finished', cut: true, ms: limit }]);
    expect(await fleet.charged()).toBe(1);
    await expect.poll(() => clock.waits()).toEqual([]);
  });
});

test.each(GRID)(
  'a deadline without content is a 504, do not retry: %s, streamed: %s',
  async (family, stream) => {
    const { clock, upstream, fleet, ask, lines } = await startTimed(() => undefined, 15_000);
    const said = ask(family, stream);
    await expect.poll(() => upstream.attempts).toBe(1);
    clock.advance(4_999);
    expect(lines()).toEqual([]);
    clock.advance(1);
    expect(parseJson(await said).error).toMatchObject({ type: 'api_error' });
    expect(lines()).toMatchObject([{ status: 504, outcome: 'failed', fault: 'deadline' }]);
    expect(await fleet.charged()).toBe(0);
    await expect.poll(() => upstream.sockets.size).toBe(0);
    await expect.poll(() => clock.waits()).toEqual([]);
  },
);
