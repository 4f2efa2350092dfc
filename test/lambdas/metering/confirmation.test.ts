import { describe, expect, test } from 'vitest';
import { callerWith, newId, useMeterBench } from './meter-bench.ts';

const setUp = useMeterBench();

describe('a caller that is read again while its unit is reserved', () => {
  test('the unit is reserved before the caller is confirmed, and counts once', async () => {
    const { meter } = setUp();
    const caller = callerWith({});
    const confirmed = Promise.withResolvers<void>();
    const confirm = () => confirmed.promise;
    const admitting = meter.admit(caller, newId('req'), { confirm });
    const reserved = async () => (await meter.usage(caller)).period.reserved;
    await expect.poll(reserved).toBe(1);
    confirmed.resolve();
    expect((await admitting).limits.quota.remaining).toBe(99);
    expect(await reserved()).toBe(1);
  });

  test('of a meter that outgrew one item no unit is reserved before the caller is confirmed', async () => {
    const { admit, meter } = setUp();
    const caller = callerWith({});
    for (let n = 0; n < 61; n += 1) await admit(caller);
    const reserved = async () => (await meter.usage(caller)).period.reserved;
    expect(await reserved()).toBe(61);
    const confirm = async () => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect(await reserved()).toBe(61);
    };
    await meter.admit(caller, newId('req'), { confirm });
    expect(await reserved()).toBe(62);
  });

  test('a caller that is not confirmed gets its unit and its place in the minute back', async () => {
    const { admit, meter } = setUp();
    const caller = callerWith({ rpm: 1, quota: 1 });
    const confirm = () => Promise.reject(new Error('The key was revoked.'));
    await expect(meter.admit(caller, newId('req'), { confirm })).rejects.toThrow('revoked');
    await admit(caller);
  });

  test('a caller that is not confirmed gets that error, also where a limit is reached', async () => {
    const { admit, meter } = setUp();
    const caller = callerWith({ rpm: 1 });
    await admit(caller);
    const confirm = () => Promise.reject(new Error('The key was revoked.'));
    await expect(meter.admit(caller, newId('req'), { confirm })).rejects.toThrow('revoked');
  });
});
