import { UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { leaseOf } from '../../lambdas/metering/budgets.ts';
import { reservationOf } from '../../lambdas/metering/limits.ts';
import type { Lease } from '../../lambdas/stores/budget-store.ts';
import { createDynamoBudgetStore } from '../../lambdas/stores/dynamo/budgets/budget-store.ts';
import { SHARDING } from '../../lambdas/stores/dynamo/meter-shards.ts';
import { createDynamoMeterStore } from '../../lambdas/stores/dynamo/meter-store.ts';
import { createManualClock } from '../support/manual-clock.ts';
import { createSdkClient } from '../support/sdk-client.ts';
import { SEED, share } from '../support/seeds.ts';
import { type BudgetStores, simulateBudgets } from './budget-world.ts';
import { FAULT_SETS } from './fault-sets.ts';
import { type Faults, NO_FAULTS } from './faulty-network.ts';
import { clientFrom, createMemoryClient, createMemoryTable } from './memory-table.ts';

const SEEDS = Math.ceil(Number(process.env.SIMULATION_SEEDS ?? share(5_000)) / 20);
/** A soak on a busy machine takes some minutes for each set of faults. */
const TIMEOUT_MS = 3_600_000;

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
    'budgets of every kind under %s are never exceeded, deny no request early and add up',
    async (_, faults) => {
      expect(await failures(faults, storesWith(SHARDING))).toEqual([]);
    },
    TIMEOUT_MS,
  );

  test.each(Object.entries(FAULT_SETS))(
    'budgets of sharded meters under %s are never exceeded, deny no request early and add up',
    async (_, faults) => {
      const sharding = {
        ...SHARDING,
        ...{ marksPerItem: 1, minShards: 2, maxShards: 8, writesInFlight: 1 },
      };
      expect(await failures(faults, storesWith(sharding))).toEqual([]);
    },
    TIMEOUT_MS,
  );

  test('a late copy of a change changes no lease that has become as large again', async () => {
    const table = createMemoryTable();
    const now = Date.UTC(2026, 11, 1);
    const clock = createManualClock(now);
    const sent: UpdateCommand['input'][] = [];
    const client = clientFrom((command) => {
      if (command instanceof UpdateCommand) sent.push(command.input);
      return createMemoryClient(table, 'always').send(command as UpdateCommand);
    });
    const { createMeters, createBudgets } = storesWith(SHARDING);
    const meters = createMeters(client, clock);
    const budgets = createBudgets(client, clock);
    const plan = { id: 'plan', rpm: 10, quota: 10, period: 'month' as const };
    const caller = { keyId: 'key', projectId: 'p', meterId: 'm', plan, budgets: ['key/total'] };
    const lease = leaseOf(caller, { nanos: 25 }, now);
    const [hold] = lease.holds;
    if (!hold) throw new Error('The caller has a budget.');
    const owner = { scope: 'key', id: 'm', name: 'm', period: 'total' as const };
    await budgets.setBudget({ ...owner, max: 100, isPaused: false, setBy: '', setAt: 0 }, hold);
    const unit = { ...reservationOf(caller, 'req_1', now), lease };
    await meters.reserve(unit);
    await meters.changeLease(unit, 19, now);
    const late = sent.at(-1);
    await meters.changeLease(unit, 25, now);
    if (late) table.update(late);
    expect(await budgets.readBudget(hold)).toMatchObject({ leased: lease.nanos });
  });

  /** A key with a budget, whose user has one, too. */
  const createCaller = async () => {
    const now = Date.UTC(2026, 11, 1);
    const clock = createManualClock(now);
    const client = createMemoryClient(createMemoryTable(), 'always');
    const { createMeters, createBudgets } = storesWith(SHARDING);
    const plan = { id: 'plan', rpm: 10, quota: 10, period: 'month' as const };
    const budgets = ['key/total', 'user/total/100'];
    const caller = { keyId: 'key', projectId: 'p', meterId: 'm', plan, budgets };
    const newLease = () => leaseOf(caller, { nanos: 25, who: { user: 'ann' } }, now);
    const [hold] = newLease().holds;
    if (!hold) throw new Error('The caller has a budget.');
    const owner = { scope: 'key', id: 'm', name: 'm', period: 'total' as const };
    const limit = { ...owner, max: 100, isPaused: false, setBy: '', setAt: 0 };
    await createBudgets(client, clock).setBudget(limit, hold);
    const leased = async ({ counters = [] }: Lease): Promise<number | undefined> => {
      const user = counters[0]?.hold;
      return user && (await createBudgets(client, clock).readBudget(user))?.leased;
    };
    const unitOf = (lease: Lease) => ({ ...reservationOf(caller, 'req_1', now), lease });
    return { createMeters: () => createMeters(client, clock), newLease, unitOf, leased, now };
  };

  test('the budgets of a key and of a user lease as much for a request whose lease has become as large again', async () => {
    const { createMeters, newLease, unitOf, leased, now } = await createCaller();
    const lease = newLease();
    const meters = createMeters();
    const unit = unitOf(lease);
    await meters.reserve(unit);
    await meters.changeLease(unit, 19, now);
    await meters.changeLease(unit, 25, now);
    expect(await leased(lease)).toBe(lease.nanos);
  });

  test('the budgets of a key and of a user lease as much for a request whose first process died', async () => {
    const { createMeters, newLease, unitOf, leased } = await createCaller();
    await createMeters().reserve(unitOf(newLease()));
    const lease = newLease();
    await createMeters().reserve({ ...unitOf(lease), isRepeat: true });
    expect(lease.nanos).toBeGreaterThan(25);
    expect(await leased(lease)).toBe(lease.nanos);
  });

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
