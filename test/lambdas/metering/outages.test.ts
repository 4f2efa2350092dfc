import { describe, expect, test } from 'vitest';
import type { LogEvent } from '../../../lambdas/log-events.ts';
import { errorOf } from '../../support/error-of.ts';
import { parseLine } from '../../support/log-line.ts';
import { callerWith, newId, useMeterBench } from './meter-bench.ts';

const setUp = useMeterBench();

const eventsIn = (lines: string[]): LogEvent[] => lines.map((line) => parseLine(line).event);

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
    await next.commit();
    await next.close();
    expect((await admit(caller)).limits.quota.remaining).toBe(8);
  });
});

describe('a response of over 17 minutes', () => {
  test('a response whose unit was reaped is not sent: 503, and no unit is charged', async () => {
    const { admit, meter, clock } = setUp();
    const caller = callerWith({ quota: 3 });
    const admission = await admit(caller);
    clock.advance(17 * 60_000);
    expect((await meter.usage(caller)).period.used).toBe(0);
    expect((await errorOf(() => admission.commit())).status).toBe(503);
    await admission.refund();
    expect((await meter.usage(caller)).period.used).toBe(0);
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

  test('a commit fails with 503 while the table is unavailable', async () => {
    const { admit, table } = setUp();
    const admission = await admit(callerWith({}));
    table.cut();
    expect((await errorOf(() => admission.commit())).status).toBe(503);
  });

  test('a failed refund is retried until it is written', async () => {
    const { admit, table, clock, lines } = setUp();
    const caller = callerWith({ quota: 1 });
    const admission = await admit(caller);
    table.cut();
    await admission.refund();
    table.restore();
    const closed = admission.close();
    clock.advance(100);
    await closed;
    expect(eventsIn(lines)).toEqual(['meter_refund_late', 'meter_refund_written']);
    expect((await admit(caller)).limits.quota.remaining).toBe(0);
  });

  test('a refund that cannot be written is logged with its ids', async () => {
    const { meter, table, clock, lines } = setUp();
    const caller = callerWith({});
    const admission = await meter.admit(caller, 'req_lost');
    table.cut();
    await admission.refund();
    let isClosed = false;
    const closed = admission.close().then(() => {
      isClosed = true;
    });
    while (!isClosed) {
      clock.advance(2_000);
      await new Promise(setImmediate);
    }
    await closed;
    const ids = { meterId: caller.meterId, requestId: 'req_lost' };
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { event: 'meter_refund_late', ...ids },
      { event: 'meter_refund_pending', ...ids },
    ]);
  });
});
