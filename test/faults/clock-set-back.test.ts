import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { HOUR_MS, MINUTE_MS } from '../../lambdas/support/clock.ts';
import { answer, startUpstream, status } from '../support/fleet-upstream.ts';
import { CANARIES } from '../support/leak-watch.ts';
import { post, startWatched } from '../support/local.ts';
import { createManualClock } from '../support/manual-clock.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { createWatchedLog } from '../support/watched-log.ts';

const NOON = Date.parse('2026-11-24T12:00:05Z');
const AHEAD = NOON + 2 * HOUR_MS;
/** A router whose clock is ahead, and a provider that answers. */
const setUp = async () => {
  const clock = createManualClock(AHEAD);
  const lines: string[] = [];
  const upstream = await startUpstream(answer);
  const catalog = [modelOn([targetAt(upstream.url)])];
  const log = createWatchedLog(catalog, clock, (line) => void lines.push(line));
  const secrets = { secret: CANARIES.upstreamKey };
  const router = await startWatched({ catalog, secrets, clock, log });
  onTestFinished(() => router.close());
  const ask = async (key = router.key) => {
    const body = { model: 'vendor/model', messages: [{ role: 'user', content: 'hi' }] };
    const response = await post(router, '/v1/chat/completions', body, { key });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  return { clock, lines, upstream, router, ask };
};
const Keys = z.object({ data: z.tuple([z.object({ id: z.string() })]) });

test('a key that is in use is paused at once though the clock was set back since it was read', async () => {
  const { clock, router, ask } = await setUp();
  expect((await ask()).status).toBe(200);
  clock.set(NOON);
  const keys = await fetch(`${router.baseUrl}/admin/projects/local/keys`);
  const [{ id }] = Keys.parse(await keys.json()).data;
  await post(router, `/admin/projects/local/keys/${id}/pause`, {});
  expect((await ask()).status).toBe(401);
});

test('a target that recovers serves requests though the clock was set back since it failed', async () => {
  const { clock, upstream, ask } = await setUp();
  upstream.act = status(429, { 'retry-after': '30' });
  expect((await ask()).status).toBe(503);
  upstream.act = answer;
  clock.set(NOON);
  expect((await ask()).status).toBe(200);
});

test('a key whose minutes a clock that was ahead has closed gets the time from which it works, and the log names the clock', async () => {
  const { clock, lines, router, ask } = await setUp();
  for (let calls = 0; calls < 3; calls += 1) {
    expect((await ask()).status).toBe(200);
    clock.advance(7 * MINUTE_MS);
  }
  clock.set(NOON);
  const { status: denied, headers, text } = await ask();
  expect([denied, headers.get('x-should-retry')]).toEqual([503, 'false']);
  expect(text).toContain('clock is behind');
  expect(text).toContain('until 2026-11-24T14:08:00Z');
  expect(lines.join('')).toContain('"failure":"ClockBehind(503)"');
  expect((await ask(await router.createKey())).status).toBe(200);
  clock.set(Date.parse('2026-11-24T14:08:00Z'));
  expect((await ask()).status).toBe(200);
});
