import type { DynamoClient } from '../../../lambdas/stores/dynamo/dynamo-client.ts';
import { SHARDING, type Sharding } from '../../../lambdas/stores/dynamo/meter-shards.ts';
import { createDynamoMeterStore } from '../../../lambdas/stores/dynamo/meter-store.ts';
import { PARTITION_KEY } from '../../../lambdas/tables.ts';
import { TABLE_NAMES } from '../../support/dynamo.ts';
import type { Real } from './commands.ts';
import { createFaultyClient } from './faulty-client.ts';
import { createFaultyModel } from './faulty-commands.ts';
import { createMeterModel } from './model.ts';

/** Nine minutes before a year ends: histories cross the end of every kind of window. */
const START = Date.parse('2026-12-31T23:51:30Z');
const tableName = TABLE_NAMES.meters;

/** The model's throttled writes would shard the meter, which then needs to know which reserves are repeats. */
const ONE_ITEM: Sharding = { ...SHARDING, throttledToSpread: Number.POSITIVE_INFINITY };

let meters = 0;

const createReal = (base: DynamoClient, sharding: Sharding): Real => {
  meters += 1;
  const meterId = `mtr_model_${meters}`;
  const network = createFaultyClient(base);
  const newStore = () => createDynamoMeterStore({ client: network.client, tableName, sharding });
  const real: Real = {
    meterId,
    network,
    store: newStore(),
    isSharded: sharding !== ONE_ITEM,
    restart: () => {
      real.store = newStore();
    },
    observer: createDynamoMeterStore({ client: base, tableName, sharding }),
    readItem: async () => {
      const Key = { [PARTITION_KEY]: meterId };
      const input = { TableName: tableName, Key, ConsistentRead: true };
      return (await base.call('GetItem', input)).Item ?? {};
    },
  };
  return real;
};

/** A model and a store on a new meter, for `fc.asyncModelRun`. */
export const setUpModel =
  (newClient: () => DynamoClient, sharding = ONE_ITEM) =>
  () => ({
    model: createMeterModel(START),
    real: createReal(newClient(), sharding),
  });

/** What callers know of a meter, and a store whose sharded meters are on a faulty client. */
export const setUpFaultyModel = (newClient: () => DynamoClient, sharding: Sharding) => () => ({
  model: createFaultyModel(START),
  real: createReal(newClient(), sharding),
});

/** Meters that this process has set up. */
export const countMeters = (): number => meters;
