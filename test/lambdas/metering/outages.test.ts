import { describe, expect, test } from 'vitest';
import type { LogEvent } from '../../../lambdas/log-events.ts';
import { errorOf } from '../../support/error-of.ts';
import { parseLine } from '../../support/log-line.ts';
import { callerWith, newId, useMeterBench } from './meter-bench.ts';

const setUp = useMeterBench();

const eventsIn = (lines: string[]): LogEvent[] => lines.map((line) => parseLine(line).event);

/** Lets time pass until `work` is done. */
const runUntil = async <T>(work: Promise<T>, clock: { advance(ms: number): void }): Promise<T> => {
  let isDone = false;
  const done = work.then(() => {
    isDone = true;
  });
  while (!isDone) {
    clock.advance(2_000);
    await new Promise(setImmediate);
  }
  await done;
  return work;
};

describe('dead processes', () => {
  test('units of a dead process deny no request 17 minutes later', async () => {
    const { admit, environment, clock, lines } = setUp();
    const caller = callerWith({ quota: 2 });
    await environment().admit(caller, newId('req'));
    await environment().admit(caller, newId('req'));
    clock.advance(17 * 60_000);
    const results = await Promise.allSettled([admit(caller), admit(caller), admit(caller)]);
    expect(results.map(({ status }) => status).toSorted()).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
    ]);
    expect(lines.join('')).toContain('"event":"meter_units_reaped"');
  });

  test('units of a dead process are refunded by the next admitted request', async () => {
    const { admit, environment, clock } = setUp();
    const caller = callerWith({ quota: 10 });
    await environment().admit(caller, newId('req'));
    clock.advance(17 * 60_000);
    const next = await admit(caller);
    await next.charge();
    await next.finished();
    expect((await admit(caller)).limits.quota.remaining).toBe(8);
  });

  test('units of processes that die one after another are refunded each time', async () => {
    const { meter, environment, clock, lines } = setUp();
    const caller = callerWith({ quota: 10 });
    for (const died of [1, 2]) {
      await environment().admit(caller, newId('req'));
      clock.advance(17 * 60_000);
      expect((await meter.usage(caller)).period).toMatchObject({ used: 0, reserved: 0 });
      expect(eventsIn(lines)).toEqual(Array(died).fill('meter_units_reaped'));
    }
  });

  test('units of a dead process deny no request in two processes that find them at once', async () => {
    const { environment, clock, table } = setUp();
    const caller = callerWith({ quota: 2 });
    for (const _ of [1, 2]) await environment().admit(caller, newId('req'));
    clock.advance(17 * 60_000);
    const release = table.hold('reap');
    const admitted = [environment(), environment()].map((meter) =>
      meter.admit(caller, newId('req')),
    );
    await expect.poll(() => table.calls.filter((call) => call === 'reap')).toHaveLength(2);
    release();
    const remaining = (await Promise.all(admitted)).map(({ limits }) => limits.quota.remaining);
    expect(remaining.toSorted()).toEqual([0, 1]);
  });

  test('two processes that find the unit of a dead one at once report it once', async () => {
    const { environment, clock, table, lines } = setUp();
    const caller = callerWith({ quota: 10 });
    await environment().admit(caller, newId('req'));
    clock.advance(17 * 60_000);
    const release = table.hold('reap');
    const reads = [environment(), environment()].map((meter) => meter.usage(caller));
    await expect.poll(() => table.calls.filter((call) => call === 'reap')).toHaveLength(2);
    release();
    for (const read of reads) expect((await read).period).toMatchObject({ reserved: 0 });
    expect(eventsIn(lines)).toEqual(['meter_units_reaped']);
  });

  test('the end of a request waits for the refund of a dead process that it began', async () => {
    const { admit, environment, clock, table, lines } = setUp();
    const caller = callerWith({ quota: 10 });
    await environment().admit(caller, newId('req'));
    clock.advance(17 * 60_000);
    const release = table.hold('reap');
    const next = await admit(caller);
    let isFinished = false;
    const finished = next.finished().then(() => {
      isFinished = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(isFinished).toBe(false);
    release();
    await finished;
    expect(eventsIn(lines)).toEqual(['meter_units_reaped']);
  });
});

describe('a response of over 17 minutes', () => {
  test('a response whose unit was reaped before its end costs no unit', async () => {
    const { admit, meter, clock } = setUp();
    const caller = callerWith({ quota: 3 });
    const admission = await admit(caller);
    clock.advance(17 * 60_000);
    expect((await meter.usage(caller)).period).toMatchObject({ used: 0, reserved: 0 });
    await admission.charge();
    expect((await meter.usage(caller)).period).toMatchObject({ used: 0, reserved: 0 });
  });
});

describe('an unavailable table', () => {
  test('every request gets 503 and retry-after: 1 while the table is unavailable', async () => {
    const { meter, table } = setUp();
    table.cut();
    const caller = callerWith({});
    const verbs = [() => meter.admit(caller, newId('req')), () => meter.admitFree(caller)];
    for (const verb of verbs) {
      expect(await errorOf(verb)).toMatchObject({
        type: 'api_error',
        status: 503,
        headers: { 'retry-after': '1' },
      });
    }
  });

  test('a reservation whose reply is lost gets a 503, and its unit is refunded before that', async () => {
    const { admit, meter, table } = setUp();
    const caller = callerWith({});
    table.lose('reserve');
    expect((await errorOf(() => admit(caller))).status).toBe(503);
    table.restore();
    expect((await meter.usage(caller)).period).toMatchObject({ used: 0, reserved: 0 });
  });

  test('a failed charge is retried until it is written', async () => {
    const { admit, meter, table, clock, lines } = setUp();
    const caller = callerWith({});
    const admission = await admit(caller);
    table.cut();
    const charged = admission.charge();
    table.restore();
    expect(await runUntil(charged, clock)).toBe(true);
    expect(table.calls).toEqual(['reserve', 'charge', 'charge']);
    expect((await meter.usage(caller)).period).toMatchObject({ used: 1, reserved: 0 });
    expect(lines).toEqual([]);
  });

  test('a failed charge is retried after 100, 500 and 2100 ms, and no earlier', async () => {
    const { admit, table, clock } = setUp();
    const admission = await admit(callerWith({}));
    table.cut();
    const charged = admission.charge();
    const charges = () => table.calls.filter((call) => call === 'charge').length;
    for (const [attempt, pause] of [100, 400, 1_600].entries()) {
      await expect.poll(() => clock.hasTimerOf(pause)).toBe(true);
      clock.advance(pause - 1);
      await new Promise((resolve) => setTimeout(resolve, 10));
      expect(charges()).toBe(1 + attempt);
      clock.advance(1);
      await expect.poll(charges).toBe(2 + attempt);
    }
    expect(await charged).toBe(false);
  });

  test('a charge that cannot be written is logged with its ids, and its unit is refunded 17 minutes later', async () => {
    const { meter, table, clock, lines } = setUp();
    const caller = callerWith({});
    const admission = await meter.admit(caller, 'req_unpaid');
    table.cut();
    expect(await runUntil(admission.charge(), clock)).toBe(false);
    const ids = { meterId: caller.meterId, requestId: 'req_unpaid' };
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { event: 'meter_charge_pending', ...ids },
    ]);
    table.restore();
    expect((await meter.usage(caller)).period).toMatchObject({ used: 0, reserved: 1 });
    clock.advance(17 * 60_000);
    expect((await meter.usage(caller)).period).toMatchObject({ used: 0, reserved: 0 });
  });

  test('a failed refund is retried until it is written', async () => {
    const { admit, table, clock, lines } = setUp();
    const caller = callerWith({ quota: 1 });
    const admission = await admit(caller);
    table.cut();
    await admission.refund();
    table.restore();
    const finished = admission.finished();
    clock.advance(100);
    await finished;
    expect(eventsIn(lines)).toEqual(['meter_refund_late', 'meter_refund_written']);
    expect((await admit(caller)).limits.quota.remaining).toBe(0);
  });

  test('a refund that is written after its timeout is logged as late and as written', async () => {
    const { admit, table, clock, lines } = setUp();
    const admission = await admit(callerWith({}));
    const release = table.hold('refund');
    const refunded = admission.refund();
    clock.advance(3_500);
    await refunded;
    expect(eventsIn(lines)).toEqual(['meter_refund_late']);
    release();
    await admission.finished();
    expect(eventsIn(lines)).toEqual(['meter_refund_late', 'meter_refund_written']);
  });

  test('a refund that cannot be written is logged with its ids', async () => {
    const { meter, table, clock, lines } = setUp();
    const caller = callerWith({});
    const admission = await meter.admit(caller, 'req_lost');
    table.cut();
    await admission.refund();
    await runUntil(admission.finished(), clock);
    const ids = { meterId: caller.meterId, requestId: 'req_lost' };
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { event: 'meter_refund_late', ...ids },
      { event: 'meter_refund_pending', ...ids },
    ]);
  });
});

describe('a throttled table', () => {
  test('a meter that the table throttles is held for 100 ms, twice as long when it is throttled again, and other meters are not', async () => {
    const { admit, table, clock } = setUp();
    const caller = callerWith({});
    const statusOf = async (wanted = caller) => {
      table.calls.length = 0;
      return errorOf(() => admit(wanted)).then(({ status }) => [status, table.calls.length > 0]);
    };
    const sent = [503, true];
    const held = [503, false];
    table.throttle('reserve');
    expect(await statusOf()).toEqual(sent);
    clock.advance(99);
    expect(await statusOf()).toEqual(held);
    expect(await statusOf(callerWith({}))).toEqual(sent);
    clock.advance(1);
    expect(await statusOf()).toEqual(sent);
    clock.advance(199);
    expect(await statusOf()).toEqual(held);
    table.restore();
    clock.advance(1);
    await admit(caller);
  });

  test('a meter that stays throttled is held for at most a second, and for 100 ms again after a second without', async () => {
    const { admit, table, clock } = setUp();
    const caller = callerWith({});
    const isSent = async () => {
      table.calls.length = 0;
      await errorOf(() => admit(caller));
      return table.calls.length > 0;
    };
    table.throttle('reserve');
    // Two at once are one reason to wait.
    expect((await Promise.all([isSent(), isSent()])).includes(true)).toBe(true);
    for (const ms of [100, 200, 400, 800, 1_000, 1_000]) {
      clock.advance(ms - 1);
      expect(await isSent()).toBe(false);
      clock.advance(1);
      expect(await isSent()).toBe(true);
    }
    clock.advance(2_000);
    expect(await isSent()).toBe(true);
    clock.advance(99);
    expect(await isSent()).toBe(false);
    clock.advance(1);
    expect(await isSent()).toBe(true);
  });

  test('a throttled charge is repeated after 25, 75, 175, 375, 775 and 1575 ms, and no earlier', async () => {
    const { admit, table, clock } = setUp();
    const admission = await admit(callerWith({}));
    table.throttle('charge');
    const charged = admission.charge();
    const charges = () => table.calls.filter((call) => call === 'charge').length;
    for (const [attempt, pause] of [25, 50, 100, 200, 400, 800].entries()) {
      await expect.poll(() => clock.hasTimerOf(pause)).toBe(true);
      if (pause === 800) table.restore();
      clock.advance(pause - 1);
      await new Promise((resolve) => setTimeout(resolve, 10));
      expect(charges()).toBe(1 + attempt);
      clock.advance(1);
      await expect.poll(charges).toBe(2 + attempt);
    }
    expect(await charged).toBe(true);
  });

  test('a meter whose reservation fails for another reason is not held', async () => {
    const { admit, table } = setUp();
    const caller = callerWith({});
    table.cut();
    expect((await errorOf(() => admit(caller))).status).toBe(503);
    table.restore();
    await admit(caller);
  });
});
