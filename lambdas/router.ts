import { createHmac, createSecretKey, randomBytes } from 'node:crypto';
import { isIP, Socket } from 'node:net';
import { createSecureContext } from 'node:tls';
import { defaultProvider } from '@aws-sdk/credential-provider-node';
import { createBucket } from './aws/bucket.ts';
import { createAwsOptions } from './aws/endpoint.ts';
import { createEventBus } from './aws/event-bus.ts';
import { bundledModels } from './catalog/bundled-models.ts';
import { createCatalog } from './catalog/catalog.ts';
import { createRouter } from './create-router.ts';
import { RouterEnv, readEnv, tableNamesIn, WHO_KEY } from './env.ts';
import type { HttpHandler } from './http/create-http-handler.ts';
import { createAuthenticate, LOOK_UP_TIMEOUT_MS } from './keys/authenticate.ts';
import { labelsOf } from './metrics.ts';
import { createDynamoClient } from './stores/dynamo/client.ts';
import { createRouterStores, openDynamoResponses } from './stores/dynamo/stores.ts';
import { BUCKET_TIMEOUTS, createBucketBodies } from './stores/s3/body-store.ts';
import { DAY_MS, HOUR_MS, systemClock } from './support/clock.ts';
import { pooled } from './support/ids.ts';
import { createTelemetry } from './telemetry/create-telemetry.ts';
import { createCountAtProvider } from './upstreams/count-at-provider.ts';
import { createHttpUpstream } from './upstreams/http-upstream.ts';
import { openUpstreamSecrets } from './upstreams/secrets-manager.ts';

// First uses of Node, at the start because Lambda gives it more CPU than a request: the first TLS context reads the root
// certificates (15 ms), V8 compiles the expression of IPv6 addresses for the first two host names (6 ms), and the first
// connection loads the module that looks them up (1 ms). The first socket, signature and line of the log take 1 to 2 ms
// together.
createSecureContext();
isIP('first.host');
isIP('second.host');
process.getBuiltinModule('node:dns');
new Socket();
createHmac('sha256', createSecretKey('first', 'utf8')).digest();
const { stdout } = process;

const env = readEnv(RouterEnv, process.env);
const log = createTelemetry({
  stage: env.STAGE,
  labels: labelsOf(bundledModels, Number(env.MAX_SERIES)),
  clock: systemClock,
  write: (line) => stdout.write(line),
});
const credentials = defaultProvider();
const aws = createAwsOptions(process.env, { credentials, clock: systemClock });
const { ANSWERS_BUCKET: bucketName } = env;
const storeOptions: Parameters<typeof createRouterStores>[0] = {
  client: createDynamoClient(aws('dynamodb')),
  tableNames: { ...tableNamesIn(env), answers: env.ANSWERS_TABLE },
  recordDays: Number(env.RECORD_DAYS),
  bodies:
    bucketName === undefined
      ? undefined
      : createBucketBodies(createBucket({ ...aws('s3'), bucketName, timeouts: BUCKET_TIMEOUTS })),
};
const stores = createRouterStores(storeOptions);

const events = createEventBus(aws('events'));
const secrets = openUpstreamSecrets(aws('secretsmanager'), { secretId: env.UPSTREAM_SECRET, log });

/** For the server that checks keys before it reads a body (web.ts). */
export const authenticate = createAuthenticate({
  ...stores,
  clock: systemClock,
  timeoutMs: LOOK_UP_TIMEOUT_MS,
  log,
});

const router = createRouter({
  catalog: createCatalog(bundledModels),
  ...stores,
  openResponses: openDynamoResponses(storeOptions),
  announce: (event) => events.put('Usage threshold reached', event),
  keepMs: env.REPLAY_HOURS === undefined ? undefined : Number(env.REPLAY_HOURS) * HOUR_MS,
  state:
    env.STATE_DAYS === undefined
      ? undefined
      : { mode: env.STATE ?? 'off', keepMs: Number(env.STATE_DAYS) * DAY_MS },
  authenticate,
  upstream: createHttpUpstream({ secrets, roleCredentials: credentials, clock: systemClock }),
  countAtProvider:
    env.COUNT_TOKENS === 'provider'
      ? createCountAtProvider({ secrets, clock: systemClock })
      : undefined,
  log,
  clock: systemClock,
  randomBytes: pooled(randomBytes),
  passesTraceparent: env.TRACEPARENT === 'pass',
  readWhoKey:
    env.WHO === 'hash'
      ? async () => (await secrets.get(WHO_KEY, new AbortController().signal)).value
      : undefined,
  corsOrigins: env.CORS_ORIGINS.split(' ').filter((origin) => origin !== ''),
});

/** The schedule's event; no request has such a member. */
type Scheduled = { job: 'webhooks' };

/** The router function on AWS: requests, and the schedule that repeats webhooks. */
export const handler = awslambda.streamifyResponse(
  async (event: Parameters<HttpHandler>[0] | Scheduled, stream, context) => {
    if (!('job' in event)) return router(event, stream, context);
    await router.repeatEvents();
    stream.end();
  },
) as unknown as HttpHandler;
