import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SHARDING } from '../../lambdas/stores/dynamo/meter-shards.ts';
import { createDynamoMeterStore } from '../../lambdas/stores/dynamo/meter-store.ts';
import { createSdkClient } from '../support/sdk-client.ts';
import { SEED, share } from '../support/seeds.ts';
import { FAULT_SETS } from './fault-sets.ts';
import { type Faults, NO_FAULTS } from './faulty-network.ts';
import { createPlainAddStore } from './plain-add-store.ts';
import {
  CROWDED,
  type CreateStore,
  DENSE,
  type Load,
  SPARSE,
  simulate,
  TOO_MUCH,
} from './world.ts';

const SEEDS = Number(process.env.SIMULATION_SEEDS ?? share(5_000));

/** Simulated denials are thousands of errors, whose stack traces would take a fifth of the time. */
const { stackTraceLimit } = Error;
beforeAll(() => {
  Error.stackTraceLimit = 0;
});
afterAll(() => {
  Error.stackTraceLimit = stackTraceLimit;
});

/** A schedule of several items takes seven times as long. */
const SHARDED_SEEDS = Math.ceil(SEEDS / 10);
const GROUPED_SEEDS = Math.ceil(SEEDS / 50);

/** Broken promises by seed, up to `enough` seeds. */
const failures = async (
  faults: Faults,
  createStore: CreateStore,
  enough: number,
  { seeds, load }: { seeds: number; load: Load } = { seeds: SEEDS, load: SPARSE },
) => {
  const failed: { seed: number; broken: string[] }[] = [];
  for (let seed = SEED; seed < SEED + seeds && failed.length < enough; seed += 1) {
    const broken = await simulate(seed, faults, createStore, load);
    if (broken.length > 0) failed.push({ seed, broken });
  }
  return failed;
};

const realStore: CreateStore = (client, clock) =>
  createDynamoMeterStore({ client: createSdkClient(client, clock), tableName: 'meters' });

/** A store whose meters are sharded by few requests in flight. */
const shardedStore: CreateStore = (client, clock) =>
  createDynamoMeterStore({
    client: createSdkClient(client, clock),
    tableName: 'meters',
    sharding: { ...SHARDING, marksPerItem: 1, minShards: 2, maxShards: 8 },
  });

/** One that sends one write of an item at a time, and those that wait for it as one; in one item, then in several. */
const groupingStore: CreateStore = (client, clock) =>
  createDynamoMeterStore({
    client: createSdkClient(client, clock),
    tableName: 'meters',
    sharding: { ...SHARDING, marksPerItem: 12, minShards: 2, maxShards: 4, writesInFlight: 1 },
  });

describe(`in ${SEEDS} schedules`, () => {
  test.each(Object.entries(FAULT_SETS))(
    'meters under %s exceed no limit and charge correctly',
    async (_, faults) => {
      expect(await failures(faults, realStore, 5)).toEqual([]);
    },
    600_000,
  );

  test.each(Object.entries(FAULT_SETS))(
    'sharded meters under %s exceed no limit and charge correctly',
    async (_, faults) => {
      const dense = { seeds: SHARDED_SEEDS, load: DENSE };
      expect(await failures(faults, shardedStore, 5, dense)).toEqual([]);
    },
    600_000,
  );

  test.each(Object.entries(FAULT_SETS))(
    'meters whose writes travel in groups under %s exceed no limit and charge correctly',
    async (_, faults) => {
      const crowded = { seeds: GROUPED_SEEDS, load: CROWDED };
      expect(await failures(faults, groupingStore, 5, crowded)).toEqual([]);
    },
    600_000,
  );

  // TLS and the SDK rule such copies out; a proxy that replays writes does not. A reservation that is copied
  // alone is reaped; copied together with its charge, after both were closed, it is charged again, and a 402 comes
  // as much earlier.
  test('undetected copies of writes exceed no limit and lose no charge', async () => {
    const failed = await failures(
      { ...NO_FAULTS, stray: 0.2 },
      realStore,
      Number.POSITIVE_INFINITY,
    );
    const broken = failed.flatMap((seed) => seed.broken);
    const isAtTheCallersCost = (promise: string) =>
      promise.startsWith(TOO_MUCH) || promise.startsWith('402 with');
    expect(broken.filter((promise) => !isAtTheCallersCost(promise))).toEqual([]);
  }, 600_000);

  test.each(['lost answers', 'late writes', 'duplicates'])(
    'the simulation detects counters without request ids under %s',
    async (name) => {
      expect(await failures(FAULT_SETS[name] ?? NO_FAULTS, createPlainAddStore, 1)).toHaveLength(1);
    },
  );
});
