import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Asked, askFor } from './ask.ts';
import type { TableCall, Trouble } from './dynamo-proxy.ts';
import { startTroubledRouter, type TroubledRouter } from './troubled-router.ts';

/** Mid-minute and mid-month: nothing ends during a test but what it lets pass. */
const NOW = Date.parse('2026-11-10T11:30:30Z');
let router: TroubledRouter;
beforeAll(async () => {
  router = await startTroubledRouter({ patience: 30_000, now: () => NOW, slowness: 100 });
});
beforeEach(() => {
  router.proxy.decide(() => 'none');
  // A breaker and a held meter of the last test are over by now.
  router.advance(3_600_000);
});
afterAll(() => router.close());

const ask = (asked: Asked): Promise<Response> => askFor(router.url, asked);
const newKey = (quota: number) =>
  router.createKey({ plan: { rpm: 1_000_000, quota, period: 'month' } });

const isMeterWrite = ({ operation, key }: TableCall) =>
  operation === 'UpdateItem' && key.startsWith('mtr') && !key.includes('/free/');

/** Holds the next reservation until `release`, which says what becomes of it. */
const holdReservation = () => {
  const outcome = Promise.withResolvers<Trouble>();
  let held = 0;
  router.proxy.decide((call) => {
    if (!isMeterWrite(call)) return 'none';
    held += 1;
    return held === 1 ? outcome.promise : 'none';
  });
  return { isHeld: () => held > 0, release: outcome.resolve };
};

/** Holds every write of a meter until `release`. */
const holdReservations = () => {
  const outcome = Promise.withResolvers<Trouble>();
  let held = 0;
  router.proxy.decide((call) => {
    if (!isMeterWrite(call)) return 'none';
    held += 1;
    return outcome.promise;
  });
  return { held: () => held, release: outcome.resolve };
};

const usageOf = async (key: string) => {
  const response = await fetch(`${router.url}/v1/usage`, { headers: { 'x-api-key': key } });
  const { period } = (await response.json()) as { period: { used: number; reserved: number } };
  return { used: period.used, reserved: period.reserved };
};

describe.each(['/v1/chat/completions', '/v1/messages'])('on %s', (path) => {
  test.each([false, true])(
    'a request of a meter with room is sent to its provider while its unit is reserved, and answered after that (streamed: %s)',
    async (stream) => {
      const key = await newKey(100);
      await (await ask({ path, key, model: 'test/answers' })).text();
      const before = router.upstreams.calls.length;
      const { release } = holdReservation();
      let isAnswered = false;
      const response = ask({ path, key, model: 'test/answers', stream }).then((answered) => {
        isAnswered = true;
        return answered;
      });
      const sent = () => router.upstreams.calls.slice(before).map(({ outcome }) => outcome);
      await expect.poll(sent).toEqual(['answered']);
      await pause(50);
      expect(isAnswered).toBe(false);
      release('none');
      expect((await response).status).toBe(200);
      await (await response).text();
      await expect.poll(() => usageOf(key)).toEqual({ used: 2, reserved: 0 });
    },
  );

  test.each([
    { what: 'that this environment has not seen', quota: 100, requests: 0 },
    { what: 'with fewer than 20 units left', quota: 20, requests: 1 },
  ])('a request of a meter $what is sent only once its unit is reserved', async (row) => {
    const key = await newKey(row.quota);
    const asked = { path, key, model: 'test/answers' };
    for (let n = 0; n < row.requests; n += 1) await (await ask(asked)).text();
    const before = router.upstreams.calls.length;
    const { isHeld, release } = holdReservation();
    const response = ask(asked);
    await expect.poll(isHeld).toBe(true);
    await pause(100);
    expect(router.upstreams.calls.length).toBe(before);
    release('none');
    expect((await response).status).toBe(200);
    expect(router.upstreams.calls.length).toBe(before + 1);
  });

  test('a request whose unit is not reserved after all is aborted at its provider, and its caller gets no content', async () => {
    const key = await newKey(100);
    await (await ask({ path, key, model: 'test/answers' })).text();
    const { release } = holdReservation();
    const response = ask({ path, key, model: 'test/stops', stream: true });
    await expect.poll(() => router.upstreams.calls.at(-1)?.outcome).toBe('open');
    release('throttled');
    expect((await response).status).toBe(503);
    expect(await (await response).text()).not.toContain('delta');
    await expect.poll(() => router.upstreams.calls.at(-1)?.outcome).toBe('abandoned');
    await expect.poll(() => usageOf(key)).toEqual({ used: 1, reserved: 0 });
    router.advance(2_000);
    expect((await ask({ path, key, model: 'test/answers' })).status).toBe(200);
  });
});

describe.each([
  { room: 'with thousands of units left', quota: 100_000, early: 10 },
  { room: 'with much room', quota: 100, early: 4 },
  { room: 'with 21 units left', quota: 22, early: 2 },
])('of ten requests at once', ({ room, quota, early }) => {
  test(`of ten requests at once of a meter ${room} ${early} are sent to their provider before their units are reserved`, async () => {
    const key = await newKey(quota);
    const asked = { path: '/v1/messages', key, model: 'test/answers' };
    await (await ask(asked)).text();
    const before = router.upstreams.calls.length;
    const { held, release } = holdReservations();
    const responses = Array.from({ length: 10 }, () => ask(asked));
    await expect.poll(held).toBeGreaterThan(0);
    const calls = () => router.upstreams.calls.length - before;
    await expect.poll(calls).toBe(early);
    await pause(100);
    expect(calls()).toBe(early);
    release('none');
    for (const response of await Promise.all(responses)) expect(response.status).toBe(200);
    expect(calls()).toBe(10);
    // The next one is early again.
    const again = holdReservation();
    const next = ask(asked);
    await expect.poll(again.isHeld).toBe(true);
    const isEarly = quota > 22;
    if (isEarly) await expect.poll(calls).toBe(11);
    await pause(50);
    expect(calls()).toBe(isEarly ? 11 : 10);
    again.release('none');
    expect((await next).status).toBe(200);
  });
});

test('for a minute after a reservation was not granted, a request is sent to its provider once its unit is reserved', async () => {
  const key = await newKey(100);
  const asked = { path: '/v1/responses', key, model: 'test/answers' };
  await (await ask(asked)).text();
  const failing = holdReservation();
  const failed = ask(asked);
  await expect.poll(failing.isHeld).toBe(true);
  failing.release('throttled');
  expect((await failed).status).toBe(503);
  /** Sends a request; until `end` its unit is being reserved. */
  const begin = async () => {
    const before = router.upstreams.calls.length;
    const { isHeld, release } = holdReservation();
    const response = ask(asked);
    await expect.poll(isHeld).toBe(true);
    return {
      calls: () => router.upstreams.calls.length - before,
      end: async () => {
        release('none');
        expect((await response).status).toBe(200);
      },
    };
  };
  router.advance(2_000);
  for (let nth = 0; nth < 2; nth += 1) {
    const late = await begin();
    await pause(100);
    expect(late.calls()).toBe(0);
    await late.end();
  }
  router.advance(60_000);
  const early = await begin();
  await expect.poll(early.calls).toBe(1);
  await early.end();
});
