import type { TableName } from '../../tables.ts';
import type { BreakerStore } from '../breaker-store.ts';
import type { KeyStore } from '../key-store.ts';
import type { MeterStore } from '../meter-store.ts';
import type { PlanStore } from '../plan-store.ts';
import { createDynamoBreakerStore } from './breaker-store.ts';
import type { DynamoClient } from './dynamo-client.ts';
import { createDynamoKeyStore } from './key-store.ts';
import { createDynamoMeterStore } from './meter-store.ts';
import { createDynamoPlanStore } from './plan-store.ts';

export type Stores = {
  keys: KeyStore;
  plans: PlanStore;
  meters: MeterStore;
  breakers: BreakerStore;
};

/** Tables that the router reads and writes; only the admin function uses projects. */
export type RouterTables = Exclude<TableName, 'projects'>;

/** The router's stores. `tableNames` are the physical names. */
export const createDynamoStores = ({
  client,
  tableNames,
}: {
  client: DynamoClient;
  tableNames: Record<RouterTables, string>;
}): Stores => ({
  keys: createDynamoKeyStore({ client, tableName: tableNames.keys }),
  plans: createDynamoPlanStore({ client, tableName: tableNames.plans }),
  meters: createDynamoMeterStore({ client, tableName: tableNames.meters }),
  breakers: createDynamoBreakerStore({ client, tableName: tableNames.meters }),
});
