import { randomBytes } from 'node:crypto';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { createCatalog, parseModels } from './catalog/catalog.ts';
import models from './catalog/models.json' with { type: 'json' };
import { createRouter } from './create-router.ts';
import { readRouterEnv } from './env.ts';
import { createDynamoClient } from './stores/dynamo/client.ts';
import { createDynamoStores } from './stores/dynamo/stores.ts';
import { systemClock } from './support/clock.ts';
import { createLog } from './support/log.ts';
import { createHttpUpstream } from './upstreams/http-upstream.ts';
import { createSecretsManagerSecrets } from './upstreams/secrets-manager.ts';

const env = readRouterEnv(process.env);
const stores = createDynamoStores({
  client: createDynamoClient(),
  tableNames: { keys: env.KEYS_TABLE, plans: env.PLANS_TABLE, meters: env.METERS_TABLE },
});

/** The router function on AWS. */
export const handler = createRouter({
  catalog: createCatalog(parseModels(models)),
  ...stores,
  upstream: createHttpUpstream({
    secrets: createSecretsManagerSecrets({
      client: new SecretsManagerClient({}),
      secretId: env.UPSTREAM_SECRET,
      clock: systemClock,
    }),
    clock: systemClock,
  }),
  log: createLog((line) => process.stdout.write(line)),
  clock: systemClock,
  randomBytes,
});
