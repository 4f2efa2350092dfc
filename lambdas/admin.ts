import { randomBytes } from 'node:crypto';
import models from '#models' with { type: 'json' };
import { iamOperator } from './admin/iam-operator.ts';
import { parseModels } from './catalog/catalog.ts';
import { createAdmin } from './create-admin.ts';
import { readAdminEnv } from './env.ts';
import { createDynamoProjectStore } from './stores/dynamo/project-store.ts';
import { createDocumentClient, createSdkClient } from './stores/dynamo/sdk-client.ts';
import { createDynamoStores } from './stores/dynamo/stores.ts';
import { systemClock } from './support/clock.ts';
import { createLog } from './support/log.ts';

const env = readAdminEnv(process.env);
const client = createSdkClient(createDocumentClient());

/** The admin function on AWS. */
export const handler = createAdmin({
  models: parseModels(models),
  ...createDynamoStores({
    client,
    tableNames: { keys: env.KEYS_TABLE, plans: env.PLANS_TABLE, meters: env.METERS_TABLE },
  }),
  projects: createDynamoProjectStore({ client, tableName: env.PROJECTS_TABLE }),
  operatorOf: iamOperator,
  log: createLog((line) => process.stdout.write(line)),
  clock: systemClock,
  randomBytes,
});
