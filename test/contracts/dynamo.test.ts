import type { Stores } from '../../lambdas/stores/dynamo/stores.ts';
import { storesOn, type TestDynamo } from '../support/dynamo.ts';
import { onEveryDynamo } from './dynamo-servers.ts';
import { keyStoreContract } from './key-store.contract.ts';
import { meterStoreContract } from './meter-store.contract.ts';
import { planStoreContract } from './plan-store.contract.ts';

type StoresUnderTest = Pick<Stores, 'keys' | 'plans' | 'meters'>;

onEveryDynamo((start: () => Promise<TestDynamo>) => {
  const open = async <Name extends keyof StoresUnderTest>(name: Name) => {
    const { client, close } = await start();
    const stores: StoresUnderTest = storesOn(client);
    return { store: stores[name], close };
  };
  meterStoreContract('DynamoDB', () => open('meters'));
  keyStoreContract(() => open('keys'));
  planStoreContract(() => open('plans'));
});
