import { describe, expect, test } from 'vitest';
import type { Caller } from '../../../lambdas/keys/authenticate.ts';
import type { Plan } from '../../../lambdas/stores/plan-store.ts';
import { callerWith, newId, useMeterBench } from './meter-bench.ts';

const setUp = useMeterBench();

type Asked = { asker?: Caller; confirm?: () => Promise<void> };

/** A meter, and for each request whether it may be at its provider before it is admitted. */
const setUpEarly = (plan: Partial<Plan>) => {
  const bench = setUp();
  const caller = callerWith(plan);
  const admit = async ({ asker = caller, confirm }: Asked = {}) => {
    let isEarly = false;
    const onRoom = () => {
      isEarly = true;
    };
    const admission = await bench.meter.admit(asker, newId('req'), { onRoom, confirm });
    return { admission, isEarly };
  };
  /** How many of `count` concurrent requests are early. */
  const countEarly = async (count: number) =>
    (await Promise.all(Array.from({ length: count }, () => admit()))).filter(
      ({ isEarly }) => isEarly,
    ).length;
  return { ...bench, caller, admit, countEarly };
};

describe('requests that may be at their provider before they are admitted', () => {
  test('the first request of a meter is not early, the next one is', async () => {
    const { admit } = setUpEarly({});
    expect((await admit()).isEarly).toBe(false);
    expect((await admit()).isEarly).toBe(true);
  });

  test.each([
    { of: '40 requests a minute', plan: { rpm: 40 }, early: 20 },
    { of: '100 requests a minute', plan: { rpm: 100 }, early: 75 },
    { of: 'a quota of 40', plan: { quota: 40 }, early: 20 },
    { of: 'a quota of 100', plan: { quota: 100 }, early: 75 },
  ])('of $of the last 20, and the last quarter, are not early', async ({ plan, early }) => {
    const { admit, clock } = setUpEarly({ rpm: 300, quota: 300, ...plan });
    const seen: boolean[] = [];
    for (let n = 0; n <= early + 2; n += 1) {
      const { admission, isEarly } = await admit();
      await admission.charge();
      seen.push(isEarly);
      clock.advance(500);
    }
    expect(seen).toEqual([false, ...Array(early).fill(true), false, false]);
  });

  test('of 40 requests in flight the last 20 are not early', async () => {
    const { admit } = setUpEarly({ concurrency: 40 });
    const seen: boolean[] = [];
    for (let n = 0; n <= 22; n += 1) seen.push((await admit()).isEarly);
    expect(seen).toEqual([false, ...Array(20).fill(true), false, false]);
  });

  test('at most four concurrent requests of a meter are early, also after others have ended', async () => {
    const { admit, countEarly } = setUpEarly({});
    await admit();
    expect(await countEarly(6)).toBe(4);
    const confirmed = Promise.withResolvers<void>();
    const inFlight = admit({ confirm: () => confirmed.promise });
    for (let n = 0; n < 5; n += 1) expect((await admit()).isEarly).toBe(true);
    confirmed.resolve();
    expect((await inFlight).isEarly).toBe(true);
  });

  test('requests that are being reserved count as admitted', async () => {
    const { admit, countEarly } = setUpEarly({ rpm: 42 });
    for (let n = 0; n < 20; n += 1) await admit();
    // 22 are left: of the next ones the third would be among the last 20.
    expect(await countEarly(8)).toBe(3);
  });

  test('after a denial no request of the meter is early for a minute', async () => {
    const { admit, caller, clock } = setUpEarly({ rpm: 30 });
    await admit();
    expect((await admit()).isEarly).toBe(true);
    const asker = { ...caller, plan: { ...caller.plan, rpm: 1 } };
    await expect(admit({ asker })).rejects.toMatchObject({ status: 429 });
    clock.advance(59_999);
    expect((await admit()).isEarly).toBe(false);
    clock.advance(1);
    expect((await admit()).isEarly).toBe(true);
  });

  test('a meter that was not used for ten minutes has no early request', async () => {
    const { admit, clock } = setUpEarly({});
    await admit();
    clock.advance(10 * 60_000 - 1);
    expect((await admit()).isEarly).toBe(true);
    clock.advance(10 * 60_000);
    expect((await admit()).isEarly).toBe(false);
    expect((await admit()).isEarly).toBe(true);
  });
});
