import { describe } from 'vitest';
import type { DynamoClient } from '../../lambdas/stores/dynamo/dynamo-client.ts';
import { createSdkClient } from '../../lambdas/stores/dynamo/sdk-client.ts';
import type { Stores } from '../../lambdas/stores/dynamo/stores.ts';
import { storesOn, type TestDynamo } from '../support/dynamo.ts';
import { onEveryDynamo } from './dynamo-servers.ts';
import { keyStoreContract } from './key-store.contract.ts';
import { meterStoreContract } from './meter-store.contract.ts';
import { planStoreContract } from './plan-store.contract.ts';

const CLIENTS: [name: string, clientOf: (dynamo: TestDynamo) => DynamoClient][] = [
  ["the router's client", ({ client }) => client],
  ["AWS's SDK", ({ sdk }) => createSdkClient(sdk)],
];

type StoresUnderTest = Pick<Stores, 'keys' | 'plans' | 'meters'>;

onEveryDynamo((start: () => Promise<TestDynamo>) => {
  describe.each(CLIENTS)('through %s', (_, clientOf) => {
    const open = async <Name extends keyof StoresUnderTest>(name: Name) => {
      const dynamo = await start();
      const stores: StoresUnderTest = storesOn(clientOf(dynamo));
      return { store: stores[name], close: dynamo.close };
    };
    meterStoreContract('DynamoDB', () => open('meters'));
    keyStoreContract(() => open('keys'));
    planStoreContract(() => open('plans'));
  });
});
