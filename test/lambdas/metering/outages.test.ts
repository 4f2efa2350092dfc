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
