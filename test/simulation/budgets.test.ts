import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDynamoBudgetStore } from '../../lambdas/stores/dynamo/budgets/budget-store.ts';
import { SHARDING } from '../../lambdas/stores/dynamo/meter-shards.ts';
import { createDynamoMeterStore } from '../../lambdas/stores/dynamo/meter-store.ts';
import { createSdkClient } from '../../lambdas/stores/dynamo/sdk-client.ts';
import { SEED } from '../support/seeds.ts';
import { type BudgetStores, simulateBudgets } from './budget-world.ts';
import { FAULT_SETS } from './fault-sets.ts';
import { type Faults, NO_FAULTS } from './faulty-network.ts';

const SEEDS = Math.ceil(Number(process.env.SIMULATION_SEEDS ?? 5_000) / 10);

const { stackTraceLimit } = Error;
beforeAll(() => {
  Error.stackTraceLimit = 0;
});
afterAll(() => {
  Error.stackTraceLimit = stackTraceLimit;
});

const storesWith = (sharding: typeof SHARDING): BudgetStores => ({
  createMeters: (client, clock) =>
    createDynamoMeterStore({
      client: createSdkClient(client, clock),
      tableName: 'meters',
      sharding,
    }),
  createBudgets: (client, clock) =>
    createDynamoBudgetStore({ client: createSdkClient(client, clock), tableName: 'meters' }),
});

const failures = async (faults: Faults, stores: BudgetStores) => {
  const failed: { seed: number; broken: string[] }[] = [];
  for (let seed = SEED; seed < SEED + SEEDS && failed.length < 3; seed += 1) {
    const broken = await simulateBudgets(seed, faults, stores);
    if (broken.length > 0) failed.push({ seed, broken });
  }
  return failed;
};

describe(`in ${SEEDS} schedules`, () => {
  test.each(Object.entries(FAULT_SETS))(
    'budgets of keys and projects under %s are never exceeded, deny no request early and add up',
    async (_, faults) => {
      expect(await failures(faults, storesWith(SHARDING))).toEqual([]);
    },
    600_000,
  );

  test.each(Object.entries(FAULT_SETS))(
    'budgets of sharded meters under %s are never exceeded, deny no request early and add up',
    async (_, faults) => {
      const sharding = { ...SHARDING, marksPerItem: 1, minShards: 2, maxShards: 8 };
      expect(await failures(faults, storesWith(sharding))).toEqual([]);
    },
    600_000,
  );

  test('the simulation detects a response that continues without a slice', async () => {
    const { createMeters, ...stores } = storesWith(SHARDING);
    const lawless: BudgetStores = {
      ...stores,
      createMeters: (client, clock) => ({
        ...createMeters(client, clock),
        changeLease: async ({ lease }, nanos) => {
          lease.nanos = nanos;
          return undefined;
        },
      }),
    };
    expect(await failures(NO_FAULTS, lawless)).toHaveLength(3);
  });
});
