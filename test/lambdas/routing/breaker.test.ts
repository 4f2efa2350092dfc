import { describe, expect, test } from 'vitest';
import type { BreakerStore } from '../../../lambdas/stores/notes.ts';
import { StoreUnavailable } from '../../../lambdas/stores/store-unavailable.ts';
import { startLab, statusesOf } from '../../support/fleet-lab.ts';
import { type Act, answer, breakOff, status } from '../../support/fleet-upstream.ts';

describe('a target that is down for a minute under load', () => {
  test.each([
    ['answers 503', status(503)],
    ['answers 500', status(500)],
    ['resets', ((response) => void response.socket?.resetAndDestroy()) satisfies Act],
    ['breaks its protocol', ((response) => void response.end('<html>')) satisfies Act],
  ])(
    'a target that %s for a minute gets 10 attempts and one per opening of its breaker',
    async (_, act) => {
      const { clock, primary, askInTurn, count } = await startLab([act, answer]);
      const sent = [];
      for (let at = 0; at < 60_000; at += 500) {
        sent.push(await askInTurn());
        clock.advance(500);
      }
      expect(statusesOf(sent)).toEqual([200]);
      expect(count('breaker_opened')).toBeGreaterThan(1);
      expect(primary.attempts).toBeLessThanOrEqual(10 + count('breaker_opened'));
    },
  );

  test('two environments with four requests at a time send a failed target no more attempts each than one', async () => {
    const { clock, primary, ask, count, fleet } = await startLab([status(500), answer], {
      size: 2,
    });
    const sent = [];
    for (let at = 0; at < 60_000; at += 500) {
      const asked = [ask(0), ask(1), ask(0, 'other project'), ask(1, 'other project')];
      sent.push(...(await Promise.all(asked)));
      clock.advance(500);
    }
    expect(sent).toHaveLength(480);
    expect(statusesOf(sent)).toEqual([200]);
    expect(count('breaker_opened')).toBeGreaterThan(1);
    expect(primary.attempts).toBeLessThanOrEqual(2 * (10 + count('breaker_opened')));
    expect(await fleet.charged()).toBe(240);
  });

  test('a target that fails for one key alone gets 10 attempts and one for each time that key is held off', async () => {
    const { clock, primary, ask, count } = await startLab([status(500), answer]);
    const sent = [];
    for (let at = 0; at < 60_000; at += 500) {
      sent.push(await ask());
      clock.advance(500);
    }
    expect(statusesOf(sent)).toEqual([200]);
    expect(count('breaker_opened')).toBe(0);
    expect(count('key_held_off')).toBeGreaterThan(1);
    expect(primary.attempts).toBeLessThanOrEqual(10 + count('key_held_off'));
  });

  test('a target that refuses connections trips after two attempts', async () => {
    const { primary, askTimes, count } = await startLab([answer, answer]);
    await primary.close();
    expect(statusesOf(await askTimes(3))).toEqual([200]);
    expect(count('upstream_failed')).toBe(2);
    expect(count('breaker_opened')).toBe(1);
  });
});

test('a total outage costs at most 1.2 attempts a request, and every caller gets an error with a retry time at once', async () => {
  const { clock, primary, second, ask, fleet } = await startLab([status(500), status(503)]);
  const sent = [];
  for (let at = 0; at < 60_000; at += 400) {
    sent.push(await ask());
    clock.advance(400);
  }
  const attempts = primary.attempts + (second?.attempts ?? 0);
  const waits = fleet.lines().filter(({ event }) => event === 'request');
  expect(waits).toHaveLength(sent.length);
  for (const { ms } of waits) expect(ms).toBeLessThanOrEqual(5_000);
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

test('a recovered target is detected by one probe and used from then on', async () => {
  const { clock, primary, ask, askTimes } = await startLab([status(503)]);
  await askTimes(6);
  expect(primary.attempts).toBe(5);
  primary.act = answer;
  expect((await ask()).status).toBe(503);
  clock.advance(15_000);
  expect(statusesOf(await askTimes(3))).toEqual([200]);
});

describe("an upstream's error status", () => {
  test.each([
    ['429 and a wait', status(429, { 'retry-after': '7' }), 2, 503, '7', 7_000, 10_500],
    ['429 alone', status(429), 2, 503, '10', 8_000, 12_000],
    ['429 and a day', status(429, { 'retry-after': '86400' }), 2, 503, '60', 3_600_000, 5_400_000],
    ['429 and nonsense', status(429, { 'retry-after': 'soon' }), 2, 503, '10', 8_000, 12_000],
    ['401', status(401), 2, 500, undefined, 240_000, 360_000],
    ['403', status(403), 3, 500, undefined, 240_000, 360_000],
    ['402', status(402), 3, 502, undefined, 240_000, 360_000],
    ['404', status(404), 3, 502, undefined, 240_000, 360_000],
  ])(
    'an upstream that returns %s has its own status, retry-after and breaker interval',
    async (_name, act, times, code, retryAfter, atLeast, atMost) => {
      const { clock, primary, fleet, askInTurn, askTimesInTurn } = await startLab([act]);
      await askTimesInTurn(times - 1);
      const told = await askInTurn();
      expect(told.status).toBe(code);
      expect(told.headers['retry-after']).toBe(retryAfter);
      expect(told.headers['x-should-retry']).toBe(retryAfter ? undefined : 'false');
      expect(JSON.parse(told.text).error.type).toBe('api_error');

      const opened = fleet.lines().find(({ event }) => event === 'breaker_opened');
      expect(Number(opened?.openUntil)).toBeGreaterThanOrEqual(clock.now() + atLeast);
      expect(Number(opened?.openUntil)).toBeLessThanOrEqual(clock.now() + atMost);
      expect(statusesOf(await askTimesInTurn(2))).toEqual([503]);
      expect(primary.attempts).toBe(times);
    },
  );

  test('an occasional 403 for a flagged prompt opens no breaker', async () => {
    const { primary, askTimes, count } = await startLab([answer]);
    for (let round = 0; round < 5; round += 1) {
      primary.act = status(403);
      expect(statusesOf(await askTimes(2))).toEqual([500]);
      primary.act = answer;
      expect(statusesOf(await askTimes(4))).toEqual([200]);
    }
    expect(count('breaker_opened')).toBe(0);
  });

  test('breakers open for minutes make SDKs fail at once instead of waiting', async () => {
    const { clock, ask, askTimesInTurn, fleet } = await startLab([status(401)]);
    await askTimesInTurn(2);
    const early = await ask();
    expect(early.headers).toMatchObject({ 'x-should-retry': 'false', 'retry-after': '60' });
    expect(early.status).toBe(503);
    // The interval has 20 % jitter, so the log line is read: two minutes before the probe.
    const opened = fleet.lines().find(({ event }) => event === 'breaker_opened');
    clock.set(Number(opened?.openUntil) - 120_000);
    // The first request in a second is let through although the breaker is open.
    expect((await ask()).status).toBe(500);
    const late = await ask();
    expect(late.status).toBe(503);
    expect(late.headers).not.toHaveProperty('x-should-retry');
  });

  test.each([400, 413, 422])("an upstream's %i opens no breaker", async (code) => {
    const { askTimes, count, fleet } = await startLab([status(code)]);
    expect(statusesOf(await askTimes(8))).toEqual([code === 413 ? 413 : 400]);
    expect(count('breaker_opened')).toBe(0);
    expect(await fleet.charged()).toBe(0);
  });

  test('an upstream with 413 leads to no other target', async () => {
    const { primary, second, askTimes } = await startLab([status(413), answer]);
    expect(statusesOf(await askTimes(2))).toEqual([413]);
    expect([primary.attempts, second?.attempts]).toEqual([2, 0]);
  });
});

test('the shortest retry-after of the targets is sent to the caller', async () => {
  const { ask } = await startLab([
    status(429, { 'retry-after': '40' }),
    status(503, { 'retry-after': '7' }),
    status(502),
  ]);
  const told = await ask();
  expect([told.status, told.headers['retry-after']]).toEqual([502, '7']);
});

test('while all breakers are open, retry-after is the time until the first may close', async () => {
  const { ask, primary, second } = await startLab([
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

test('a response that breaks off after its first content counts as a failure', async () => {
  const { primary, second, askTimesInTurn, count, fleet } = await startLab([breakOff, answer]);
  const sent = await askTimesInTurn(6);
  expect(sent.slice(0, 5).every(({ text }) => text.includes('event: error\n'))).toBe(true);
  expect(sent.at(-1)?.text).toContain('[DONE]');
  expect([primary.attempts, second?.attempts]).toEqual([5, 1]);
  expect(count('breaker_opened')).toBe(1);
  expect(await fleet.charged()).toBe(0);
});

describe('a caller who leaves', () => {
  const hang: Act = () => undefined;

  test('a disconnected client does not count as a failure of the target', async () => {
    const { primary, askAndLeave, ask, count } = await startLab([hang]);
    for (let turn = 0; turn < 6; turn += 1) await askAndLeave();
    primary.act = answer;
    expect((await ask()).status).toBe(200);
    expect(count('breaker_opened')).toBe(0);
  });

  test("a disconnected client does not reset the target's failures in a row", async () => {
    const { primary, askTimesInTurn, askAndLeave, count } = await startLab([status(500)]);
    await askTimesInTurn(4);
    primary.act = hang;
    await askAndLeave();
    primary.act = status(500);
    await askTimesInTurn(1);
    expect(count('breaker_opened')).toBe(1);
  });

  test('a disconnected client releases the probe to the next request', async () => {
    const { clock, primary, askAndLeave, askTimes, ask } = await startLab([status(401)]);
    await askTimes(1);
    clock.advance(360_000);
    primary.act = hang;
    await askAndLeave();
    primary.act = answer;
    await expect.poll(async () => (await ask()).status).toBe(200);
  });
});

test('an unavailable breaker table makes every target count as healthy', async () => {
  const fail = () => Promise.reject(new StoreUnavailable('canary'));
  const breakers: BreakerStore = { readBreaker: fail, transitionBreaker: fail, takeProbe: fail };
  const { primary, askTimesInTurn, fleet } = await startLab([status(500), answer], { breakers });
  expect(statusesOf(await askTimesInTurn(8))).toEqual([200]);
  expect(primary.attempts).toBe(8);
  expect(fleet.logText()).not.toContain('canary');
});

test('a read of a breaker that hangs delays a request by 250 ms at most', async () => {
  const hang = () => new Promise<never>(() => {});
  const breakers: BreakerStore = { readBreaker: hang, transitionBreaker: hang, takeProbe: hang };
  const { clock, primary, ask } = await startLab([answer], { breakers });
  const asked = ask();
  await expect.poll(clock.waits).toContain(250);
  expect(primary.attempts).toBe(0);
  clock.advance(250);
  expect((await asked).status).toBe(200);
  // For two seconds no request waits for another read.
  expect((await ask()).status).toBe(200);
});

test('a write of a breaker that hangs delays a request by 1 s at most', async () => {
  const hang = () => new Promise<never>(() => {});
  const breakers = { readBreaker: async () => undefined, transitionBreaker: hang, takeProbe: hang };
  const { clock, askInTurn, count } = await startLab([status(429)], { breakers });
  expect((await askInTurn()).status).toBe(503);
  const refused = askInTurn();
  await expect.poll(clock.waits).toContain(1_000);
  clock.advance(1_000);
  expect((await refused).status).toBe(503);
  expect(count('breaker_unwritable')).toBe(1);
});

test('a target that fails half of its calls is tried after the others, until 10 s later', async () => {
  const { clock, primary, second, askTimesInTurn, count } = await startLab([answer, answer]);
  for (let turn = 0; turn < 6; turn += 1) {
    primary.act = answer;
    await askTimesInTurn(2);
    primary.act = status(500);
    await askTimesInTurn(2);
  }
  expect(count('breaker_opened')).toBe(0);
  primary.act = answer;
  const [before, beforeSecond] = [primary.attempts, second?.attempts ?? 0];
  expect(statusesOf(await askTimesInTurn(4))).toEqual([200]);
  expect([primary.attempts, second?.attempts]).toEqual([before, beforeSecond + 4]);
  clock.advance(10_001);
  await askTimesInTurn(1);
  expect(primary.attempts).toBe(before + 1);
});

test('responses that broke off before one that ended well hold their key off no sooner', async () => {
  const { primary, askTimes, count } = await startLab([breakOff, answer]);
  await askTimes(4);
  primary.act = answer;
  await askTimes(1);
  primary.act = breakOff;
  await askTimes(4);
  expect(count('key_held_off')).toBe(0);
  await askTimes(1);
  expect(count('key_held_off')).toBe(1);
});
