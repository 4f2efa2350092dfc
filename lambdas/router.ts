import { randomBytes } from 'node:crypto';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import models from '#models' with { type: 'json' };
import { createCatalog, parseModels } from './catalog/catalog.ts';
import { createRouter } from './create-router.ts';
import { readRouterEnv } from './env.ts';
import { labelsOf } from './metrics.ts';
import { createDynamoClient } from './stores/dynamo/client.ts';
import { createDynamoStores } from './stores/dynamo/stores.ts';
import { systemClock } from './support/clock.ts';
import { createTelemetry } from './telemetry/create-telemetry.ts';
import { createHttpUpstream } from './upstreams/http-upstream.ts';
import {
  createSecretsManagerSecrets,
  SECRETS_CLIENT_OPTIONS,
} from './upstreams/secrets-manager.ts';

const env = readRouterEnv(process.env);
const catalog = parseModels(models);
const log = createTelemetry({
  stage: env.STAGE,
  labels: labelsOf(catalog, Number(env.MAX_SERIES)),
  clock: systemClock,
  write: (line) => process.stdout.write(line),
});
const stores = createDynamoStores({
  client: createDynamoClient(),
  tableNames: { keys: env.KEYS_TABLE, plans: env.PLANS_TABLE, meters: env.METERS_TABLE },
});

/** The router function on AWS. */
export const handler = createRouter({
  catalog: createCatalog(catalog),
  ...stores,
  upstream: createHttpUpstream({
    secrets: createSecretsManagerSecrets({
      client: new SecretsManagerClient(SECRETS_CLIENT_OPTIONS),
      secretId: env.UPSTREAM_SECRET,
      clock: systemClock,
      log,
    }),
    clock: systemClock,
  }),
  log,
  clock: systemClock,
  randomBytes,
  corsOrigins: env.CORS_ORIGINS.split(' ').filter((origin) => origin !== ''),
});
