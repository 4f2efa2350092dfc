import { expect, test } from 'vitest';
import type { DynamoClient } from '../../../../lambdas/stores/dynamo/dynamo-client.ts';
import { SHARDING, type Sharding } from '../../../../lambdas/stores/dynamo/meter-shards.ts';
import { createDynamoMeterStore } from '../../../../lambdas/stores/dynamo/meter-store.ts';
import { systemClock } from '../../../../lambdas/support/clock.ts';
import { PARTITION_KEY } from '../../../../lambdas/tables.ts';
import { createMemoryClient, createMemoryTable } from '../../../simulation/memory-table.ts';
import { createSdkClient } from '../../../support/sdk-client.ts';

const START = Date.parse('2026-11-21T11:30:00Z');
const METER_ID = 'mtr_00000000000000000000';
const tableName = 'meters';

const reservation = (id: number, now: number) => ({
  meterId: METER_ID,
  requestId: `req_${String(id).padStart(24, '0')}`,
  keyId: 'key_00000000000000000000',
  minute: Math.floor(now / 60_000),
  period: '2026-11',
  rpm: 1e6,
  quota: 1e6,
  now,
});

/** About what DynamoDB bills: names and texts byte by byte, a number one byte for two digits and one more. */
const bytesOf = (item: Record<string, unknown> = {}): number =>
  Object.entries(item).reduce((sum, [name, value]) => {
    const text = String(value);
    return sum + name.length + (typeof value === 'number' ? text.length / 2 + 1 : text.length);
  }, METER_ID.length);

const unitsOf = (bytes: number): number => Math.max(1, Math.ceil(bytes / 1_024));

/** A table that counts the calls of its stores; a write costs the larger of its item before and after. */
const createCountingTable = () => {
  const table = createMemoryTable();
  const base = createSdkClient(createMemoryClient(table, 'always'), systemClock);
  const calls = { reads: 0, writes: 0, units: 0 };
  const client: DynamoClient = {
    ...base,
    call: async (operation, input) => {
      if (operation !== 'UpdateItem' || !('Key' in input)) {
        calls.reads += 1;
        return base.call(operation, input);
      }
      const size = () => bytesOf(table.get(String(input.Key[PARTITION_KEY])));
      const before = size();
      try {
        return await base.call(operation, input);
      } finally {
        calls.writes += 1;
        calls.units += unitsOf(Math.max(before, size()));
      }
    },
  };
  /** What `run` costs. */
  const costOf = async (run: () => Promise<unknown>) => {
    Object.assign(calls, { reads: 0, writes: 0, units: 0 });
    await run();
    return { ...calls };
  };
  return { items: table.items, client, costOf };
};

/** A meter with 500 units of a process that died, and the store of another process 17 minutes later. */
const abandonUnits = async (sharding: Sharding) => {
  const { items, client, costOf } = createCountingTable();
  const dead = createDynamoMeterStore({ client, tableName, sharding });
  const spent = await costOf(async () => {
    for (let id = 0; id < 500; id += 1) {
      expect(await dead.reserve(reservation(id, START))).toMatchObject({ outcome: 'admitted' });
    }
  });
  const { [METER_ID]: root, ...shards } = Object.fromEntries(items);
  return {
    spent,
    root,
    shards: Object.values(shards),
    store: createDynamoMeterStore({ client, tableName, sharding }),
    costOf,
  };
};

const LATER = START + 17 * 60_000;
const NOTHING_IN_FLIGHT = {
  periodCount: 0,
  reservedCount: 0,
  inFlightCount: 0,
  hasStaleMarks: false,
};

test('500 requests in flight in one meter keep each of its shards under 1 KB', async () => {
  const { spent, shards } = await abandonUnits(SHARDING);
  expect(shards.length).toBeGreaterThan(500 / SHARDING.marksPerItem);
  expect(shards.filter((shard) => bytesOf(shard) > 1_024)).toEqual([]);
  // One for each reservation, and what the shards are added and lent by.
  expect(spent.units).toBeLessThan(700);
});

test('100 reservations next to 500 abandoned units cost a write unit each and few to find room', async () => {
  const { store, costOf } = await abandonUnits(SHARDING);
  const reserve100 = async (from: number) => {
    for (let id = from; id < from + 100; id += 1) {
      expect(await store.reserve(reservation(id, LATER))).toMatchObject({ outcome: 'admitted' });
    }
  };
  // The first of a process and a minute find the shards that have room, and are lent units.
  expect((await costOf(() => reserve100(500))).units).toBeLessThan(160);
  expect((await costOf(() => reserve100(600))).units).toBeLessThan(115);
});

test('500 abandoned units of a sharded meter are refunded at the first look by one read and at most one write of each item', async () => {
  const { root, store, costOf } = await abandonUnits(SHARDING);
  const items = 1 + Number(root?.s);
  const cost = await costOf(async () => {
    expect(await store.reap(METER_ID, LATER)).toBe(500);
  });
  expect(cost.reads).toBe(items);
  expect(cost.writes).toBeLessThanOrEqual(items);
  // The first item has 60 marks and the grants of all shards.
  expect(cost.units).toBeLessThanOrEqual(items + 2);
  expect(await store.readUsage(reservation(500, LATER))).toMatchObject(NOTHING_IN_FLIGHT);
});

test('500 abandoned units of one item are refunded at the first look by one read and five writes', async () => {
  const { store, costOf } = await abandonUnits({ ...SHARDING, marksPerItem: 500 });
  const cost = await costOf(async () => {
    expect(await store.reap(METER_ID, LATER)).toBe(500);
  });
  expect(cost).toMatchObject({ reads: 1, writes: 5 });
  expect(await store.readUsage(reservation(500, LATER))).toMatchObject(NOTHING_IN_FLIGHT);
});

test('a meter that was sharded once costs a key with one request a minute six writes at most for each', async () => {
  const { client, costOf } = createCountingTable();
  const newStore = () => createDynamoMeterStore({ client, tableName });
  const busy = newStore();
  const units = Array.from({ length: 500 }, (_, id) => reservation(id, START));
  for (const unit of units) await busy.reserve(unit);
  for (const unit of units) await busy.charge(unit);

  const store = newStore();
  const cost = await costOf(async () => {
    for (let minute = 20; minute < 120; minute += 1) {
      const unit = reservation(500 + minute, START + minute * 60_000);
      expect(await store.reserve(unit)).toMatchObject({ outcome: 'admitted' });
      await store.charge(unit);
    }
  });
  expect(cost.writes / 100).toBeLessThanOrEqual(6);
  expect(cost.reads / 100).toBeLessThanOrEqual(2);
});
