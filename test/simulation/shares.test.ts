import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createShares } from '../../lambdas/routing/shares/shares.ts';
import { createDynamoShareStore } from '../../lambdas/stores/dynamo/share-store.ts';
import { createSdkClient } from '../support/sdk-client.ts';
import { checksAll, SEED, share } from '../support/seeds.ts';
import { FAULT_SETS } from './fault-sets.ts';
import { NO_FAULTS } from './faulty-network.ts';
import {
  type CreateShares,
  type ShareFaults,
  simulateIsolation,
  simulateShares,
} from './share-world.ts';

const schedulesOf = (seeds: number): number =>
  Math.ceil(Number(process.env.SIMULATION_SEEDS ?? seeds) / 16);
// With fewer its own faults are not detected.
const SEEDS = schedulesOf(share(5_000, 5));
const TROUBLED_SEEDS = schedulesOf(share(5_000));
/** A flood has a thousand requests. */
const FLOODS = Math.ceil(SEEDS / 40);
/** A soak on a busy machine takes some minutes for each set of faults. */
const TIMEOUT_MS = 3_600_000;

const { stackTraceLimit } = Error;
beforeAll(() => {
  Error.stackTraceLimit = 0;
});
afterAll(() => {
  Error.stackTraceLimit = stackTraceLimit;
});

const create: CreateShares = (client, { clock, random }) =>
  createShares({
    store: createDynamoShareStore({ client: createSdkClient(client, clock), tableName: 'meters' }),
    clock,
    random,
  });

const run = async (faults: ShareFaults, createThese: CreateShares, seeds = SEEDS) => {
  const failed: { seed: number; broken: string[] }[] = [];
  const modest = { got: 0, fair: 0 };
  for (let seed = SEED; seed < SEED + seeds && failed.length < 3; seed += 1) {
    const { broken, modest: one } = await simulateShares(seed, faults, createThese);
    modest.got += one.got;
    modest.fair += one.fair;
    if (broken.length > 0) failed.push({ seed, broken: broken.slice(0, 5) });
  }
  return { failed, share: modest.got / modest.fair };
};

/** Whose tables answer, so that each request is decided by the shares. */
const SOUND: Record<string, ShareFaults> = {
  calm: NO_FAULTS,
  duplicates: { ...NO_FAULTS, duplicate: 0.2 },
  'clocks 5 s apart': { ...NO_FAULTS, skewMs: 2_500 },
};
const TROUBLED: Record<string, ShareFaults> = {
  crashes: { ...NO_FAULTS, crash: 0.5 },
  'lost answers': FAULT_SETS['lost answers'] ?? NO_FAULTS,
  'late writes': FAULT_SETS['late writes'] ?? NO_FAULTS,
  throttling: FAULT_SETS.throttling ?? NO_FAULTS,
  'everything at once': {
    ...(FAULT_SETS['crashes and everything else'] ?? NO_FAULTS),
    skewMs: 2_500,
  },
};
/** Of what a perfect scheduler gives to the tenants that do not flood; of 63 schedules the share deviates by a hundredth. */
const LEAST_SHARE = checksAll ? 0.98 : 0.96;

describe(`in up to ${SEEDS} schedules`, () => {
  test.each(Object.entries(SOUND))(
    'shares under %s keep the quota, leave no request waiting and give modest tenants what is theirs',
    async (_, faults) => {
      const { failed, share: got } = await run(faults, create);
      expect(failed).toEqual([]);
      expect(got).toBeGreaterThan(LEAST_SHARE);
    },
    TIMEOUT_MS,
  );

  test.each(Object.entries(TROUBLED))(
    'shares under %s keep the quota in all that the table decided',
    async (_, faults) => {
      expect((await run(faults, create, TROUBLED_SEEDS)).failed).toEqual([]);
    },
    TIMEOUT_MS,
  );

  test.each(Object.entries(SOUND))(
    'under %s a flood takes less than a hundredth of the served requests of tenants below their share',
    async (_, faults) => {
      const all = { asked: 0, alone: 0, flooded: 0 };
      for (let seed = SEED; seed < SEED + FLOODS; seed += 1) {
        const one = await simulateIsolation(seed, faults, create);
        all.asked += one.asked;
        all.alone += one.alone;
        all.flooded += one.flooded;
      }
      expect(all.alone / all.asked).toBeGreaterThan(0.9);
      expect(all.flooded).toBeGreaterThan(all.alone - 0.01 * all.asked);
    },
    TIMEOUT_MS,
  );

  test('the simulation detects shares that admit everybody', async () => {
    const lawless: CreateShares = () => ({
      take: async () => ({ isAdmitted: true, isUnchecked: false }),
      correct: () => {},
    });
    expect((await run(NO_FAULTS, lawless)).failed).toHaveLength(3);
  });

  test('the simulation detects shares that serve whoever comes first', async () => {
    const inOneRow: CreateShares = (client, parts) => {
      const shares = create(client, parts);
      return {
        ...shares,
        take: (quota, ask, options) =>
          shares.take(quota, { ...ask, flow: 'all', weight: 1 }, options),
      };
    };
    expect((await run(NO_FAULTS, inOneRow)).failed).toHaveLength(3);
    const { asked, alone, flooded } = await simulateIsolation(SEED, NO_FAULTS, inOneRow);
    expect(flooded).toBeLessThan(alone - 0.01 * asked);
  });
});
