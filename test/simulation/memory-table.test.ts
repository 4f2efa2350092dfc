import { createDynamoMeterStore } from '../../lambdas/stores/dynamo/meter-store.ts';
import { systemClock } from '../../lambdas/support/clock.ts';
import { meterStoreContract } from '../contracts/meter-store.contract.ts';
import { createSdkClient } from '../support/sdk-client.ts';
import { createMemoryClient, createMemoryTable } from './memory-table.ts';

/** The simulated table meets the same contract as DynamoDB, with and without the item of a failed condition. */
for (const withItem of ['always', 'never'] as const) {
  meterStoreContract(`the simulated table (item of a failed condition: ${withItem})`, async () => {
    const client = createMemoryClient(createMemoryTable(), withItem);
    const create = () =>
      createDynamoMeterStore({ client: createSdkClient(client, systemClock), tableName: 'meters' });
    return { store: create(), other: create(), close: async () => undefined };
  });
}
