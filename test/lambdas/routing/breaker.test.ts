import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { BreakerStore } from '../../../lambdas/stores/breaker-store.ts';
import { StoreUnavailable } from '../../../lambdas/stores/store-unavailable.ts';
import { createCountingClock } from '../../support/counting-clock.ts';
import { type Fleet, type FleetOptions, startFleet } from '../../support/fleet.ts';
import {
  type Act,
  answer,
  begin,
  breakOff,
  startUpstream,
  status,
} from '../../support/fleet-upstream.ts';
import { modelOn, targetAt } from '../../support/models.ts';
import { send } from '../../support/send.ts';

const NOW = Date.UTC(2026, 10, 21, 12);

const BODY = JSON.stringify({
  model: 'vendor/model',
  messages: [{ role: 'user', content: 'hi' }],
  stream: true,
});

const headersOf = ({ key }: Fleet) => ({ authorization: `Bearer ${key}` });

const setUp = async (acts: Act[], options: Partial<FleetOptions> = {}) => {
  const clock = createCountingClock(NOW);
  const upstreams = await Promise.all(acts.map(startUpstream));
  const targets = upstreams.map(({ url }, at) => targetAt(url, { upstream: `upstream-${at}` }));
  const fleet = await startFleet({ models: [modelOn(targets)], clock, ...options });
  onTestFinished(() => fleet.close());
  const ask = (router = 0) =>
    send(fleet.urls[router] ?? '', '/v1/chat/completions', {
      method: 'POST',
      headers: headersOf(fleet),
      body: BODY,
    });
  const askTimes = async (times: number) => {
    const sent = [];
    for (let turn = 0; turn < times; turn += 1) sent.push(await ask());
    return sent;
  };
  const count = (name: string) => fleet.lines().filter(({ event }) => event === name).length;
  /** Sends a request, and leaves once the upstream has it. */
  const askAndLeave = async () => {
    const [attempts, lines] = [upstreams[0]?.attempts ?? 0, count('request')];
    const sent = request(`${fleet.urls[0]}/v1/chat/completions`, {
      method: 'POST',
      headers: headersOf(fleet),
    }).on('error', () => undefined);
    sent.end(BODY);
    await expect.poll(() => upstreams[0]?.attempts).toBe(attempts + 1);
    sent.destroy();
    await expect.poll(() => count('request')).toBe(lines + 1);
    expect(upstreams[0]?.sockets.size).toBe(0);
  };
  const [primary, second] = upstreams;
  if (!primary) throw new Error('at least one upstream');
  return { clock, fleet, primary, second, ask, askTimes, askAndLeave, count };
};

const statusesOf = (sent: { status: number }[]) => [...new Set(sent.map((one) => one.status))];

describe('a target that is down for a minute under load', () => {
  test.each([
    ['answers 503', status(503)],
    ['answers 500', status(500)],
    ['resets', ((response) => void response.socket?.resetAndDestroy()) satisfies Act],
    ['breaks its protocol', ((response) => void response.end('<html>')) satisfies Act],
  ])('and %s is asked 10 times and once for each time its breaker was open', async (_, act) => {
    const { clock, primary, ask, count } = await setUp([act, answer]);
    const sent = [];
    for (let at = 0; at < 60_000; at += 500) {
      sent.push(await ask());
      clock.advance(500);
    }
    expect(statusesOf(sent)).toEqual([200]);
    expect(count('breaker_opened')).toBeGreaterThan(1);
    expect(primary.attempts).toBeLessThanOrEqual(10 + count('breaker_opened'));
  });

  test('and refuses connections trips after two', async () => {
    const { primary, askTimes, count } = await setUp([answer, answer]);
    await primary.close();
    expect(statusesOf(await askTimes(3))).toEqual([200]);
    expect(count('upstream_failed')).toBe(2);
    expect(count('breaker_opened')).toBe(1);
  });
});

test('a total outage costs at most 1.2 attempts a request, and every caller is told when to retry', async () => {
  const { clock, primary, second, ask } = await setUp([status(500), status(503)]);
  const sent = [];
  for (let at = 0; at < 60_000; at += 400) {
    sent.push(await ask());
    clock.advance(400);
  }
  const attempts = primary.attempts + (second?.attempts ?? 0);
  expect(attempts).toBeLessThanOrEqual(1.2 * sent.length);
  for (const { status: code, headers, text } of sent) {
    expect([502, 503]).toContain(code);
    if (code === 503) {
      expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(1);
      expect(Number(headers['retry-after'])).toBeLessThanOrEqual(60);
    }
    expect(text).not.toContain('canary');
  }
});

test('a target that has come back is found out by one probe and used from then on', async () => {
  const { clock, primary, ask, askTimes } = await setUp([status(503)]);
  await askTimes(6);
  expect(primary.attempts).toBe(5);
  primary.act = answer;
  expect((await ask()).status).toBe(503);
  clock.advance(15_000);
  expect(statusesOf(await askTimes(3))).toEqual([200]);
});

describe('what a refusal does to the target and to the caller', () => {
  test.each([
    ['429 and a wait', status(429, { 'retry-after': '7' }), 503, '7', 5_600, 8_400],
    ['429 alone', status(429), 503, '10', 8_000, 12_000],
    ['429 and an hour', status(429, { 'retry-after': '3600' }), 503, '60', 48_000, 72_000],
    ['429 and nonsense', status(429, { 'retry-after': 'soon' }), 503, '10', 8_000, 12_000],
    ['401', status(401), 500, undefined, 240_000, 360_000],
    ['403', status(403), 500, undefined, 240_000, 360_000],
    ['402', status(402), 502, undefined, 240_000, 360_000],
    ['404', status(404), 502, undefined, 240_000, 360_000],
  ])('%s', async (_name, act, code, retryAfter, atLeast, atMost) => {
    const { clock, primary, ask } = await setUp([act]);
    const told = await ask();
    expect(told.status).toBe(code);
    expect(told.headers['retry-after']).toBe(retryAfter);
    expect(told.headers['x-should-retry']).toBe(code === 500 ? 'false' : undefined);
    expect(JSON.parse(told.text).error.type).toBe('api_error');

    clock.advance(atLeast - 1);
    expect((await ask()).status).toBe(503);
    expect(primary.attempts).toBe(1);
    clock.advance(atMost - atLeast + 1);
    await ask();
    expect(primary.attempts).toBe(2);
  });

  test.each([400, 413, 422])(
    '%i is the request’s own fault: no other target, no trip',
    async (code) => {
      const { primary, second, askTimes, count, fleet } = await setUp([status(code), answer]);
      expect(statusesOf(await askTimes(8))).toEqual([502]);
      expect([primary.attempts, second?.attempts]).toEqual([8, 0]);
      expect(count('breaker_opened')).toBe(0);
      expect(await fleet.charged()).toBe(0);
    },
  );
});

test('the shortest wait that any of the targets asked for is passed on', async () => {
  const { ask } = await setUp([
    status(429, { 'retry-after': '40' }),
    status(503, { 'retry-after': '7' }),
    status(502),
  ]);
  const told = await ask();
  expect([told.status, told.headers['retry-after']]).toEqual([502, '7']);
});

test('the breakers of all targets being open, the caller waits for the first that may close', async () => {
  const { ask, primary, second } = await setUp([
    status(429, { 'retry-after': '40' }),
    status(429, { 'retry-after': '20' }),
  ]);
  await ask();
  const told = await ask();
  expect(told.status).toBe(503);
  expect(Number(told.headers['retry-after'])).toBeGreaterThanOrEqual(16);
  expect(Number(told.headers['retry-after'])).toBeLessThanOrEqual(24);
  expect([primary.attempts, second?.attempts]).toEqual([1, 1]);
});

test('an answer that breaks off after its first content counts as well', async () => {
  const { primary, second, askTimes, count, fleet } = await setUp([breakOff, answer]);
  const sent = await askTimes(6);
  expect(sent.slice(0, 5).every(({ text }) => text.includes('"finish_reason":"error"'))).toBe(true);
  expect(sent.at(-1)?.text).toContain('[DONE]');
  expect([primary.attempts, second?.attempts]).toEqual([5, 1]);
  expect(count('breaker_opened')).toBe(1);
  expect(await fleet.charged()).toBe(1);
});

describe('a caller who leaves', () => {
  const hang: Act = () => undefined;

  test('says nothing about the target', async () => {
    const { primary, askAndLeave, ask, count } = await setUp([hang]);
    for (let turn = 0; turn < 6; turn += 1) await askAndLeave();
    primary.act = answer;
    expect((await ask()).status).toBe(200);
    expect(count('breaker_opened')).toBe(0);
  });

  test('does not mend it either: failures in a row stay in a row', async () => {
    const { primary, askTimes, askAndLeave, count } = await setUp([status(500)]);
    await askTimes(4);
    primary.act = hang;
    await askAndLeave();
    primary.act = status(500);
    await askTimes(1);
    expect(count('breaker_opened')).toBe(1);
  });

  test('gives the place of the probe to the next one', async () => {
    const { clock, primary, askAndLeave, askTimes, ask } = await setUp([status(401)]);
    await askTimes(1);
    clock.advance(360_000);
    primary.act = hang;
    await askAndLeave();
    primary.act = answer;
    await expect.poll(async () => (await ask()).status).toBe(200);
  });
});

describe('two routers on the same tables', () => {
  test('share what one of them found out', async () => {
    const { primary, ask, clock } = await setUp([status(401)], { size: 2 });
    await ask(0);
    clock.advance(2_000);
    expect((await ask(1)).status).toBe(503);
    expect(primary.attempts).toBe(1);
  });

  test('send one probe between them, and both go on when it is answered', async () => {
    const { primary, ask, clock, fleet } = await setUp([status(401)], { size: 2 });
    await ask(0);
    clock.advance(360_000);
    const held: Parameters<Act>[0][] = [];
    primary.act = (response) => void held.push(response);
    const asked = Array.from({ length: 20 }, (_, turn) => ask(turn % 2));
    await expect
      .poll(() => fleet.lines().filter(({ status: code }) => code === 503).length)
      .toBe(19);
    expect(primary.attempts).toBe(2);

    primary.act = answer;
    held.forEach(answer);
    expect((await Promise.all(asked)).filter(({ status: code }) => code === 200)).toHaveLength(1);
    clock.advance(2_000);
    expect(statusesOf(await Promise.all([ask(0), ask(1), ask(0), ask(1)]))).toEqual([200]);
  });

  test('the next requests need not wait for the end of the answer that the probe began', async () => {
    const { primary, ask, clock, fleet } = await setUp([status(401)]);
    await ask();
    clock.advance(360_000);
    primary.act = begin;
    const sent = request(`${fleet.urls[0]}/v1/chat/completions`, {
      method: 'POST',
      headers: headersOf(fleet),
    }).on('error', () => undefined);
    sent.end(BODY);
    const [probe] = (await once(sent, 'response')) as [IncomingMessage];
    expect(probe.statusCode).toBe(200);
    primary.act = answer;
    expect((await ask()).status).toBe(200);
    sent.destroy();
  });
});

test('a probe that fails opens the breaker for longer each time', async () => {
  const { clock, primary, askTimes, fleet } = await setUp([status(500)]);
  await askTimes(5);
  for (let turn = 0; turn < 6; turn += 1) {
    clock.advance(145_000);
    await askTimes(2);
  }
  expect(primary.attempts).toBe(5 + 6);
  const openings = fleet.lines().filter(({ event }) => event === 'breaker_opened');
  expect(openings.map(({ openings: number }) => number)).toEqual([1, 2, 3, 4, 5, 6, 7]);
});

test('a probe that is refused for what it asks shows that the target is back', async () => {
  const { clock, primary, askTimes, count } = await setUp([status(500)]);
  await askTimes(5);
  clock.advance(12_000);
  primary.act = status(400);
  await askTimes(1);
  expect(count('breaker_closed')).toBe(1);
  primary.act = answer;
  expect(statusesOf(await askTimes(2))).toEqual([200]);
});

test('between a probe and its end one failure is enough to open again', async () => {
  const { clock, primary, askTimes, count } = await setUp([status(500)]);
  await askTimes(5);
  clock.advance(12_000);
  primary.act = breakOff;
  await askTimes(1);
  expect(count('breaker_opened')).toBe(2);
  await askTimes(3);
  expect(primary.attempts).toBe(6);
});

test('where the breakers’ table fails, all targets count as healthy', async () => {
  const fail = () => Promise.reject(new StoreUnavailable('canary'));
  const breakers: BreakerStore = { readBreaker: fail, turnBreaker: fail, takeProbe: fail };
  const { primary, askTimes, fleet } = await setUp([status(500), answer], { breakers });
  expect(statusesOf(await askTimes(8))).toEqual([200]);
  expect(primary.attempts).toBe(8);
  expect(fleet.logText()).not.toContain('canary');
});
