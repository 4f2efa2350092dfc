import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { SHARDING } from '../../lambdas/stores/dynamo/meter-shards.ts';
import { createDynamoMeterStore } from '../../lambdas/stores/dynamo/meter-store.ts';
import type { MeterStore, Reservation } from '../../lambdas/stores/meter-store.ts';
import { systemClock } from '../../lambdas/support/clock.ts';
import { createLog } from '../../lambdas/support/log.ts';
import { createMemoryClient, createMemoryTable } from '../simulation/memory-table.ts';
import { storesOn, TABLE_NAMES } from '../support/dynamo.ts';
import { createManualClock } from '../support/manual-clock.ts';
import { createSdkClient } from '../support/sdk-client.ts';
import { createPrevious, type OldMeters, PREVIOUS } from './previous.ts';

const START = Date.parse('2026-10-31T23:10:00Z');
const MINUTE = 60_000;
const MONTH = '2026-10';
const PLENTY = 1_000_000;

/** Meters of this release and of the one before on one table. */
describe(`meters next to ${PREVIOUS}`, () => {
  const table = createMemoryTable();
  const document = createMemoryClient(table, 'always');
  const client = createSdkClient(document, systemClock);
  const current: MeterStore = storesOn(client).meters;
  let previous: OldMeters;
  beforeAll(async () => {
    const clock = createManualClock(START);
    const parts = { clock, log: createLog(() => undefined), randomBytes };
    previous = (await createPrevious(document, parts)).meters;
  });

  let count = 0;
  const reservation = (meterId: string, over: Partial<Reservation> = {}): Reservation => {
    count += 1;
    const requestId = `req_${String(count).padStart(24, '0')}`;
    const minute = Math.floor((over.now ?? START) / MINUTE);
    const fixed = { meterId, requestId, keyId: 'key_a', minute, period: MONTH };
    return { ...fixed, rpm: PLENTY, quota: PLENTY, now: START, ...over };
  };

  const inCurrent = async (one: Reservation): Promise<boolean> => {
    const isAdmitted = (await current.reserve(one)).outcome === 'admitted';
    if (isAdmitted) await current.charge(one);
    return isAdmitted;
  };
  const inPrevious = async (one: Reservation): Promise<boolean> => {
    const isAdmitted = (await previous.reserve(one)).outcome === 'admitted';
    if (isAdmitted) await previous.commit(one);
    if (isAdmitted) await previous.close(one);
    return isAdmitted;
  };
  /** How many of `attempts` requests at once are admitted. */
  const admitted = async (
    attempts: number,
    take: (one: Reservation) => Promise<boolean>,
    newOne: () => Reservation,
  ): Promise<number> => {
    const all = await Promise.all(Array.from({ length: attempts }, () => take(newOne())));
    return all.filter(Boolean).length;
  };
  /** A meter that has been sharded by 70 requests at once. */
  const shard = async (meterId: string, limits: Partial<Reservation>): Promise<number> => {
    const open = Array.from({ length: 70 }, () => reservation(meterId, limits));
    const results = await Promise.all(open.map((one) => current.reserve(one)));
    await Promise.all(open.map((one) => current.charge(one)));
    return results.filter(({ outcome }) => outcome === 'admitted').length;
  };
  const used = async (meterId: string): Promise<number> =>
    (await current.readUsage(reservation(meterId))).periodCount;

  test.each([200, 400, 1_000])(
    `after a rollback a quota of %d that a sharded meter has used up admits nothing`,
    async (quota) => {
      const meterId = `rollback-${quota}`;
      const before = await shard(meterId, { quota });
      const rest = await admitted(quota, inCurrent, () => reservation(meterId, { quota }));
      expect(before + rest).toBe(quota);
      expect(await admitted(140, inPrevious, () => reservation(meterId, { quota }))).toBe(0);
      expect(await used(meterId)).toBe(quota);
    },
  );

  test('after a rollback with half of a quota of 400 used the rest is never exceeded, and the roll forward admits what is left to the unit', async () => {
    const quota = 400;
    const meterId = 'half';
    const newOne = () => reservation(meterId, { quota });
    const before = (await shard(meterId, { quota })) + (await admitted(130, inCurrent, newOne));
    expect(before).toBe(200);
    const during = await admitted(400, inPrevious, newOne);
    expect(during).toBeLessThanOrEqual(200);
    expect(await used(meterId)).toBe(before + during);
    expect(await admitted(400, inCurrent, newOne)).toBe(quota - before - during);
    expect(await admitted(100, inPrevious, newOne)).toBe(0);
  });

  test('two releases at once admit exactly a quota of 400 of a sharded meter', async () => {
    const quota = 400;
    const meterId = 'at-once';
    const newOne = () => reservation(meterId, { quota });
    const before = await shard(meterId, { quota });
    const both = await Promise.all([
      admitted(250, inCurrent, newOne),
      admitted(250, inPrevious, newOne),
    ]);
    const last = await admitted(200, inCurrent, newOne);
    expect(before + both[0] + both[1] + last).toBe(quota);
    expect(await used(meterId)).toBe(quota);
  });

  test('two releases at once admit at most a rate of 200 of a sharded meter in one minute', async () => {
    const rpm = 200;
    const meterId = 'rate';
    const newOne = () => reservation(meterId, { rpm });
    const before = await shard(meterId, { rpm });
    const both = await Promise.all([
      admitted(100, inCurrent, newOne),
      admitted(170, inPrevious, newOne),
    ]);
    const last = await admitted(200, inCurrent, newOne);
    expect(before + both[0] + both[1] + last).toBe(rpm);
  });

  test(`the usage that ${PREVIOUS} reads of a sharded meter is at least what is used, and within the quota`, async () => {
    const quota = 400;
    const meterId = 'usage';
    await shard(meterId, { quota });
    await admitted(230, inCurrent, () => reservation(meterId, { quota }));
    const { periodCount } = await previous.standing(reservation(meterId));
    expect(await used(meterId)).toBe(300);
    expect(periodCount).toBeGreaterThanOrEqual(300);
    expect(periodCount).toBeLessThanOrEqual(quota);
  });

  test(`a key that ${PREVIOUS} ended is denied in all shards from the next minute on, and before that by what they have left`, async () => {
    const meterId = 'ended';
    const limits = { rpm: 100 };
    await shard(meterId, limits);
    await previous.endKey(meterId, 'key_a', 0);
    const before = await admitted(40, inCurrent, () => reservation(meterId, limits));
    expect(before).toBeLessThanOrEqual(30);
    const now = START + MINUTE;
    const next = () => reservation(meterId, { ...limits, now });
    expect(await admitted(40, inCurrent, next)).toBe(0);
    expect(await admitted(40, inCurrent, () => ({ ...next(), keyId: 'key_b' }))).toBe(40);
  });

  test.each(['plain', 'sharded'])(
    `the count of an ended period of a %s meter outlives requests of ${PREVIOUS} until the history has it`,
    async (kind) => {
      const meterId = `period-${kind}`;
      const quota = 1_000;
      const newOne = () => reservation(meterId, { quota });
      if (kind === 'sharded') await shard(meterId, { quota });
      await admitted(5, inCurrent, newOne);
      const expected = kind === 'sharded' ? 75 : 5;
      const later = START + 2 * 60 * MINUTE;
      const late = reservation(meterId, { quota, now: later, period: '2026-11' });
      await previous.reserve(late);
      await previous.refund(late);
      expect(await current.endedPeriods(meterId, later)).toEqual([
        { period: MONTH, used: expected },
      ]);
      await current.forgetPeriods(meterId, [MONTH]);
      expect(await current.endedPeriods(meterId, later)).toEqual([]);
    },
  );

  test('a root with a layout of a later version admits nothing in this release', async () => {
    const small = createDynamoMeterStore({
      client,
      tableName: TABLE_NAMES.meters,
      sharding: { ...SHARDING, marksPerItem: 1 },
    });
    for (const meterId of ['plain-root', 'sharded-root']) {
      const [one, other] = [reservation(meterId), reservation(meterId)];
      await small.reserve(one);
      if (meterId === 'sharded-root') await small.reserve(other);
      table.items.set(meterId, { ...table.items.get(meterId), needs: ['shards', 'trees'] });
      const fresh = storesOn(client).meters;
      await expect(fresh.reserve(reservation(meterId))).rejects.toMatchObject({
        name: 'UnreadableItem',
      });
      await expect(fresh.readUsage(reservation(meterId))).rejects.toThrow('later version');
    }
  });
});
