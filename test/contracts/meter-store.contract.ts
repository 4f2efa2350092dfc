import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type {
  MeterStore,
  Reservation,
  ReservedUnits,
  ReserveResult,
} from '../../lambdas/stores/meter-store.ts';
import { newRequestId } from '../../lambdas/support/ids.ts';
import { checksAll } from '../support/seeds.ts';

const NOW = Date.parse('2026-11-21T11:30:20Z');
const MINUTE = 60_000;
const DECEMBER = Date.parse('2026-12-01T00:00:30Z');

export type MeterStoreUnderTest = {
  store: MeterStore & ReservedUnits;
  /** The same of another process. */
  other: MeterStore;
  close(): Promise<void>;
};

const newMeterId = () => `mtr_${randomBytes(12).toString('hex')}`;
/** As production makes them: a mark is named by the last seven characters, and those of hexadecimal ids meet. */
const newId = () => newRequestId(randomBytes, NOW);

/** By default a request of a new meter at 11:30:20 with high limits. */
const reservation = (over: Partial<Reservation> = {}): Reservation => {
  const now = over.now ?? NOW;
  return {
    meterId: newMeterId(),
    requestId: newId(),
    keyId: 'key_a',
    minute: Math.floor(now / MINUTE),
    period: '2026-11',
    rpm: 1_000_000,
    quota: 1_000_000,
    now,
    ...over,
  };
};

const another = (first: Reservation, over: Partial<Reservation> = {}): Reservation =>
  reservation({ ...first, requestId: newId(), ...over });

const tally = (results: ReserveResult[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const { outcome } of results) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
};

/**
 * Contract of every meter store. One whose meters are sharded estimates the counts that it returns; its
 * concurrent reservations are fewer, because each search for room reads all shards.
 */
export const meterStoreContract = (
  name: string,
  setUp: () => Promise<MeterStoreUnderTest>,
  { isSharded = false } = {},
): void => {
  const maxAtOnce = isSharded ? 20 : checksAll ? 500 : 100;
  const testInOneItem = test.skipIf(isSharded);
  describe(`a meter store on ${name}`, () => {
    let store: MeterStoreUnderTest['store'];
    let other: MeterStore;
    let close: () => Promise<void>;
    beforeAll(async () => {
      ({ store, other, close } = await setUp());
    });
    afterAll(() => close());

    const reserveMany = (count: number, first: Reservation) =>
      Promise.all(Array.from({ length: count }, () => store.reserve(another(first))));
    const used = async (r: Reservation) => (await store.readUsage(r)).periodCount;

    describe('exactness', () => {
      const crowds = [
        { rpm: 0, quota: 0, of: 20, expected: { 'quota-exhausted': 20 } },
        { rpm: 5, quota: 0, of: 20, expected: { 'quota-exhausted': 20 } },
        { rpm: 0, quota: 5, of: 20, expected: { 'rate-limited': 20 } },
        { rpm: 1, quota: 9, of: 20, expected: { admitted: 1, 'rate-limited': 19 } },
        { rpm: 9, quota: 1, of: 20, expected: { admitted: 1, 'quota-reserved': 19 } },
        { rpm: 60, quota: 900, of: 100, expected: { admitted: 60, 'rate-limited': 40 } },
        { rpm: 900, quota: 60, of: 100, expected: { admitted: 60, 'quota-reserved': 40 } },
        { rpm: 60, quota: 60, of: 100, expected: { admitted: 60, 'rate-limited': 40 } },
        { rpm: 300, quota: 900, of: 500, expected: { admitted: 300, 'rate-limited': 200 } },
      ];
      test.each(crowds.filter(({ of }) => of <= maxAtOnce))(
        '$of concurrent reservations with rpm $rpm and quota $quota: $expected',
        async (limits) => {
          const { rpm, quota, of, expected } = limits;
          expect(tally(await reserveMany(of, reservation({ rpm, quota })))).toEqual(expected);
        },
      );

      testInOneItem(
        'the counts of admitted requests are all different and end at the limit',
        async () => {
          const results = await reserveMany(20, reservation({ rpm: 10 }));
          const counts = results.filter((r) => r.outcome === 'admitted').map((r) => r.minuteCount);
          expect(counts.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        },
      );

      test('a denied request gets the limit that it reached, while refunds make room and others take it', async () => {
        const first = reservation({ quota: 3 });
        const caller = async () => {
          const mine = another(first);
          const result = await store.reserve(mine);
          if (result.outcome === 'admitted') await store.refund(mine);
          return result;
        };
        const results = await Promise.all(Array.from({ length: Math.min(150, maxAtOnce) }, caller));
        const others = results.filter(({ outcome }) => outcome !== 'admitted');
        expect(others.filter(({ outcome }) => outcome !== 'quota-reserved')).toEqual([]);
        expect(await used(first)).toBe(0);
      });

      test.each(['charge', 'refund', 'withdraw'] as const)(
        'a request is reserved from its reservation until its %s, and no other is',
        async (settle) => {
          const first = reservation({});
          const some = Array.from({ length: 20 }, () => another(first));
          const isReserved = () =>
            Promise.all(some.map(({ requestId }) => store.isReserved(first.meterId, requestId)));
          expect(await isReserved()).not.toContain(true);
          for (const each of some.slice(1)) await store.reserve(each);
          expect(await isReserved()).toEqual(some.map((each) => each !== some[0]));
          await Promise.all(some.slice(1).map((each) => store[settle](each)));
          expect(await isReserved()).not.toContain(true);
        },
      );

      test('a new minute and a new period start at zero', async () => {
        const first = reservation({ rpm: 1, quota: 2 });
        await store.reserve(first);
        const nextMinute = another(first, { now: NOW + MINUTE, minute: first.minute + 1 });
        expect(await store.reserve(nextMinute)).toMatchObject({ outcome: 'admitted' });
        await store.charge(first);
        await store.charge(nextMinute);
        const later = { now: NOW + 2 * MINUTE, minute: first.minute + 2 };
        const third = another(first, later);
        expect(await store.reserve(third)).toMatchObject({ outcome: 'quota-exhausted' });
        const december = another(first, {
          now: DECEMBER,
          minute: Math.floor(DECEMBER / MINUTE),
          period: '2026-12',
        });
        expect(await store.reserve(december)).toMatchObject({
          outcome: 'admitted',
          periodCount: 1,
        });
      });

      test('a quota that is only reserved denies with quota-reserved, and with quota-exhausted once it is used', async () => {
        const first = reservation({ quota: 1 });
        await store.reserve(first);
        const denied = { outcome: 'quota-reserved', periodCount: 1, reservedCount: 1 };
        expect(await store.reserve(another(first))).toMatchObject(denied);
        await store.charge(first);
        expect(await store.reserve(another(first))).toMatchObject({
          outcome: 'quota-exhausted',
          periodCount: 1,
          reservedCount: 0,
        });
      });

      test('of 60 concurrent reservations with concurrency 7 exactly 7 are admitted, and each end admits one more', async () => {
        const first = reservation({ concurrency: 7 });
        const all = Array.from({ length: 60 }, () => another(first));
        const results = await Promise.all(all.map((one) => store.reserve(one)));
        expect(tally(results)).toEqual({ admitted: 7, 'concurrency-reached': 53 });
        const running = all.filter((_, index) => results[index]?.outcome === 'admitted');
        for (const [index, unit] of running.entries()) {
          await (index % 2 === 0 ? store.charge(unit) : store.refund(unit));
          const next = await reserveMany(5, first);
          expect(tally(next)).toEqual({ admitted: 1, 'concurrency-reached': 4 });
        }
      });
    });

    describe('a request', () => {
      test('reserving the same request twice counts one unit', async () => {
        const r = reservation();
        await store.reserve(r);
        expect(await store.reserve(r)).toMatchObject({ outcome: 'admitted' });
        expect(await store.readUsage(r)).toMatchObject({ minuteCount: 1, periodCount: 1 });
      });

      test('charging a request twice counts one unit', async () => {
        const r = reservation();
        await store.reserve(r);
        await Promise.all([store.charge(r), store.charge(r)]);
        await store.charge(r);
        expect(await store.readUsage(r)).toMatchObject({
          periodCount: 1,
          reservedCount: 0,
          inFlightCount: 0,
        });
      });

      test('a unit that another process reserved is found by a read until it is settled, and charged once', async () => {
        const [killed, refunded] = [reservation(), reservation()];
        for (const r of [killed, refunded]) await store.reserve(r);
        await store.refund(refunded);
        const find = async (r: Reservation) =>
          (await other.readUsage({ ...r, unit: r })).isUnitOpen;
        expect([await find(killed), await find(refunded)]).toEqual([true, false]);
        expect(await find(another(killed))).toBe(false);
        for (const _ of [1, 2]) await other.charge(killed);
        expect(await find(killed)).toBe(false);
        // Its process was alive after all.
        await store.charge(killed);
        expect(await other.readUsage(killed)).toMatchObject({
          ...{ periodCount: 1, reservedCount: 0, inFlightCount: 0 },
        });
        expect(await used(refunded)).toBe(0);
      });

      test('charging a request that was never reserved counts no unit', async () => {
        const r = reservation();
        await store.charge(r);
        expect(await used(r)).toBe(0);
      });

      test('refunding a request three times returns one unit', async () => {
        const r = reservation();
        await store.reserve(r);
        await store.reserve(another(r));
        await Promise.all([store.refund(r), store.refund(r)]);
        await store.refund(r);
        expect(await store.readUsage(r)).toMatchObject({
          minuteCount: 2,
          periodCount: 1,
          inFlightCount: 1,
        });
      });

      test('a withdrawn request returns its unit and its place in the minute, and may be reserved again', async () => {
        const r = reservation({ rpm: 2 });
        await store.reserve(r);
        await store.reserve(another(r));
        await store.withdraw(r);
        const left = { minuteCount: 1, periodCount: 1, inFlightCount: 1 };
        expect(await store.readUsage(r)).toMatchObject(left);
        expect(await store.reserve(r)).toMatchObject({ outcome: 'admitted', minuteCount: 2 });
      });

      test('a withdrawal after the charge changes nothing', async () => {
        const r = reservation();
        await store.reserve(r);
        await store.charge(r);
        await store.withdraw(r);
        expect(await store.readUsage(r)).toMatchObject({ minuteCount: 1, periodCount: 1 });
      });

      test('a sharded meter reserves nothing with limits that may be out of date', async () => {
        const first = reservation();
        expect(await store.reserveUnconfirmed(first)).toMatchObject({ outcome: 'admitted' });
        // More than one item holds.
        await reserveMany(61, first);
        const counts = await store.readUsage(first);
        expect(await store.reserveUnconfirmed(another(first, { rpm: 1 }))).toBeUndefined();
        expect(await store.readUsage(first)).toEqual(counts);
      });

      test('a request refunded before its reservation arrives is never admitted', async () => {
        const r = reservation();
        await store.refund(r);
        expect(await store.reserve(r)).toMatchObject({ outcome: 'too-late' });
        expect(await used(r)).toBe(0);
      });

      test('a charged request stays charged', async () => {
        const r = reservation();
        await store.reserve(r);
        await store.charge(r);
        await store.refund(r);
        expect(await used(r)).toBe(1);
      });

      test('a refund returns the unit to the period of its reservation', async () => {
        const november = reservation();
        await store.reserve(november);
        const december = another(november, {
          now: DECEMBER,
          minute: Math.floor(DECEMBER / MINUTE),
          period: '2026-12',
        });
        await store.reserve(december);
        await store.refund(november);
        expect([await used(november), await used(december)]).toEqual([0, 1]);
      });
    });

    describe('a lowered plan', () => {
      test('a lowered plan denies requests and keeps the count, which refunds never take below zero', async () => {
        const first = reservation({ quota: 10 });
        await store.reserve(first);
        await store.reserve(another(first));
        expect(await store.reserve(another(first, { quota: 1 }))).toMatchObject({
          outcome: 'quota-reserved',
          periodCount: 2,
        });
        await store.refund(first);
        await store.refund(first);
        expect(await used(first)).toBe(1);
      });

      test('a lowered quota that is used up admits none in the place of a refunded request', async () => {
        const first = reservation({ quota: 10 });
        const others = Array.from({ length: 5 }, () => another(first));
        for (const one of [first, ...others]) await store.reserve(one);
        const lowered = () => another(first, { quota: 1 });
        expect(await store.reserve(lowered())).toMatchObject({ outcome: 'quota-reserved' });
        await store.charge(first);
        for (const one of others) await store.refund(one);
        for (let n = 0; n < 6; n += 1) {
          expect(await store.reserve(lowered())).toMatchObject({ outcome: 'quota-exhausted' });
        }
        expect(await used(first)).toBe(1);
      });

      test('a lowered concurrency holds for the requests after those that were in flight', async () => {
        const first = reservation({ concurrency: 9 });
        const others = Array.from({ length: 5 }, () => another(first));
        for (const one of [first, ...others]) await store.reserve(one);
        const lowered = () => another(first, { concurrency: 1 });
        expect(await store.reserve(lowered())).toMatchObject({ outcome: 'concurrency-reached' });
        for (const one of others) await store.charge(one);
        for (let n = 0; n < 6; n += 1) {
          expect(await store.reserve(lowered())).toMatchObject({ outcome: 'concurrency-reached' });
        }
        await store.charge(first);
        expect(await store.reserve(lowered())).toMatchObject({ outcome: 'admitted' });
      });
    });

    describe('the reaper', () => {
      const later = (minutes: number) => NOW + minutes * MINUTE;

      test('a unit that was open for 17 minutes is reaped once, to the period of its reservation', async () => {
        const r = reservation();
        await store.reserve(r);
        const reaped = await Promise.all([1, 2, 3].map(() => store.reap(r.meterId, later(17))));
        expect(reaped.reduce((sum, n) => sum + n, 0)).toBe(1);
        expect(await used(r)).toBe(0);
        await store.charge(r);
        expect(await used(r)).toBe(0);
      });

      test('a unit that may still be in use is not reaped', async () => {
        const r = reservation();
        await store.reserve(r);
        expect(await store.reap(r.meterId, later(15))).toBe(0);
        await store.charge(r);
        expect(await used(r)).toBe(1);
      });

      test('a reservation that is repeated after its unit was reaped is denied', async () => {
        const r = reservation();
        await store.reserve(r);
        await store.reap(r.meterId, later(17));
        expect(await store.reserve(r)).toMatchObject({ outcome: 'too-late', periodCount: 0 });
      });

      test('a reservation reports the stale marks that it reads', async () => {
        const r = reservation();
        expect(await store.reserve(r)).toMatchObject({ hasStaleMarks: false });
        const now = later(18);
        const next = another(r, { now, minute: Math.floor(now / MINUTE), quota: 1 });
        expect(await store.reserve(next)).toMatchObject({
          outcome: 'quota-reserved',
          hasStaleMarks: true,
        });
        await store.reap(r.meterId, now);
        expect(await store.reserve(next)).toMatchObject({
          outcome: 'admitted',
          hasStaleMarks: false,
        });
      });

      testInOneItem(
        'reaping refunds 250 units of dead processes at once, also from two periods',
        async () => {
          const r = reservation({ quota: 1_000, rpm: 1_000 });
          const units = Array.from({ length: 250 }, (_, n) =>
            another(r, { period: n % 2 === 0 ? r.period : '2026-11-21' }),
          );
          for (const unit of units) await store.reserve(unit);
          const later = { ...r, now: NOW + 18 * MINUTE };
          expect(await store.reap(r.meterId, later.now)).toBe(250);
          expect(await store.readUsage(later)).toMatchObject({
            periodCount: 0,
            inFlightCount: 0,
            hasStaleMarks: false,
          });
          expect(await store.readUsage({ ...later, period: '2026-11-21' })).toMatchObject({
            periodCount: 0,
          });
        },
      );

      test('reaping an unused meter returns 0', async () => {
        expect(await store.reap(newMeterId(), NOW)).toBe(0);
      });
    });

    describe('an ended key', () => {
      test('a revoked key is denied from its end on, other keys of the meter are not', async () => {
        const r = reservation();
        await store.endKey(r.meterId, r.keyId, NOW + 1_000);
        const attempt = async (over: Partial<Reservation>) =>
          (await store.reserve(another(r, over))).outcome;
        expect(await attempt({ now: NOW + 999 })).toBe('admitted');
        expect(await attempt({ now: NOW + 1_000 })).toBe('key-ended');
        expect(await attempt({ now: NOW + 1_000, keyId: 'key_b' })).toBe('admitted');
      });

      test('a revoked key gets key-ended even when its limits are exhausted or zero', async () => {
        const r = reservation({ quota: 1 });
        await store.reserve(r);
        await store.revokeKey(r.meterId, r.keyId, NOW);
        for (const quota of [0, 1]) {
          expect(await store.reserve(another(r, { quota }))).toMatchObject({
            outcome: 'key-ended',
          });
        }
      });

      test("a later end does not postpone a key's earlier end", async () => {
        const r = reservation();
        await store.revokeKey(r.meterId, r.keyId, NOW);
        await store.endKey(r.meterId, r.keyId, NOW + MINUTE);
        expect(await store.reserve(r)).toMatchObject({ outcome: 'key-ended' });
      });

      test('a request that a key started is finished after the key ended', async () => {
        const r = reservation();
        await store.reserve(r);
        await store.revokeKey(r.meterId, r.keyId, NOW);
        await store.charge(r);
        expect(await used(r)).toBe(1);
      });
    });

    test('reading usage returns counts and last use without changing them', async () => {
      const r = reservation();
      expect(await store.readUsage(r)).toEqual({
        minuteCount: 0,
        periodCount: 0,
        reservedCount: 0,
        inFlightCount: 0,
        isKeyEnded: false,
        lastUsedAt: undefined,
        hasStaleMarks: false,
      });
      await store.reserve(r);
      const counts = { minuteCount: 1, periodCount: 1, reservedCount: 1, inFlightCount: 1 };
      const standing = {
        ...counts,
        isKeyEnded: false,
        lastUsedAt: NOW,
        hasStaleMarks: false,
      };
      expect(await store.readUsage(r)).toEqual(standing);
      expect(await store.readUsage(r)).toEqual(standing);
      const later = { ...r, now: NOW + 18 * MINUTE };
      expect(await store.readUsage(later)).toEqual({ ...standing, hasStaleMarks: true });
    });

    test('free calls have a separate cap in each minute', async () => {
      const { meterId, minute } = reservation();
      const calls = (at: number) =>
        Promise.all(Array.from({ length: 30 }, () => store.admitFree(meterId, at, 10)));
      expect((await calls(minute)).filter(Boolean)).toHaveLength(10);
      expect((await calls(minute + 1)).filter(Boolean)).toHaveLength(10);
      expect(await store.admitFree(meterId, minute + 2, 0)).toBe(false);
    });
  });
};
