import { describe } from 'vitest';
import type { DynamoClient } from '../../lambdas/stores/dynamo/dynamo-client.ts';
import { createBank } from '../../lambdas/stores/dynamo/meter-bank.ts';
import { SHARDING } from '../../lambdas/stores/dynamo/meter-shards.ts';
import { createDynamoMeterStore } from '../../lambdas/stores/dynamo/meter-store.ts';
import { createTable } from '../../lambdas/stores/dynamo/table.ts';
import type { Stores } from '../../lambdas/stores/router-stores.ts';
import { systemClock } from '../../lambdas/support/clock.ts';
import { storesOn, TABLE_NAMES } from '../support/dynamo.ts';
import { createSdkClient } from '../support/sdk-client.ts';
import { checksAll } from '../support/seeds.ts';
import { keyStoreContract } from './key-store.contract.ts';
import { type Kind, onEveryKind } from './kinds.ts';
import { meterStoreContract } from './meter-store.contract.ts';
import { planStoreContract } from './plan-store.contract.ts';

type ClientOf = (kind: Kind) => DynamoClient;

const sdkOf: ClientOf = ({ sdk }) => {
  if (!sdk) throw new Error('Only a DynamoDB has an SDK.');
  return createSdkClient(sdk, systemClock);
};
/** The SDK is a second client of a DynamoDB only; `npm test` compares the two in lambdas/stores/dynamo. */
const clientsOf = (hasSdk: boolean): [name: string, clientOf: ClientOf][] => [
  ["the router's client", ({ client }) => client],
  ...(hasSdk && checksAll ? [["AWS's SDK", sdkOf] as [string, ClientOf]] : []),
];

/** A store that shards each meter before its first reservation, and again as soon as a few are in flight. */
const createShardedMeters = (client: DynamoClient): Stores['meters'] => {
  const tableName = TABLE_NAMES.meters;
  const sharding = { ...SHARDING, marksPerItem: 16, minShards: 2, limitsHoldMs: 0 };
  const store = createDynamoMeterStore({ client, tableName, sharding });
  const bank = createBank({ table: createTable({ client, tableName }), sharding });
  const opened = new Map<string, Promise<unknown>>();
  return {
    ...store,
    reserve: async (reservation) => {
      const { meterId } = reservation;
      const opening = opened.get(meterId) ?? bank.open(reservation);
      opened.set(meterId, opening);
      await opening;
      return store.reserve(reservation);
    },
  };
};

type StoresUnderTest = Pick<Stores, 'keys' | 'plans' | 'meters'>;

onEveryKind((start, hasSdk = false) => {
  describe.each(clientsOf(hasSdk))('through %s', (_, clientOf) => {
    const open = async <Name extends keyof StoresUnderTest>(name: Name) => {
      const dynamo = await start();
      const [stores, others]: StoresUnderTest[] = [1, 2].map(() => storesOn(clientOf(dynamo)));
      if (!stores || !others) throw new Error('Two of each.');
      return { store: stores[name], other: others[name], close: dynamo.close };
    };
    meterStoreContract('the tables', () => open('meters'));
    keyStoreContract(() => open('keys'));
    planStoreContract(() => open('plans'));
  });
  const setUpSharded = async () => {
    const dynamo = await start();
    const [store, other] = [createShardedMeters(dynamo.client), createShardedMeters(dynamo.client)];
    return { store, other, close: dynamo.close };
  };
  // Shards are items like any other, which the contracts above hold of every kind.
  if (hasSdk || checksAll)
    meterStoreContract('tables whose meters are sharded', setUpSharded, { isSharded: true });
});
