import { randomBytes } from 'node:crypto';
import { defaultProvider } from '@aws-sdk/credential-provider-node';
import { identify } from './admin/identify.ts';
import { createAwsOptions } from './aws/endpoint.ts';
import { createUserPool, type UserPool } from './aws/user-pool.ts';
import { bundledModels } from './catalog/bundled-models.ts';
import { createAdmin } from './create-admin.ts';
import { type AdminEnv, adminEnv, readEnv, tableNamesIn } from './env.ts';
import type { HttpEvent } from './http/read-event.ts';
import { readConsole } from './read-console.ts';
import { createDynamoClient } from './stores/dynamo/client.ts';
import { createDynamoProjectStore } from './stores/dynamo/project-store.ts';
import { createDynamoStores } from './stores/dynamo/stores.ts';
import { systemClock } from './support/clock.ts';
import { createTelemetry } from './telemetry/create-telemetry.ts';
import { createHttpUpstream } from './upstreams/http-upstream.ts';
import { openUpstreamSecrets } from './upstreams/secrets-manager.ts';

const env = readEnv(adminEnv(), process.env);
const log = createTelemetry({
  stage: env.STAGE,
  labels: [],
  events: ['history_folded', 'history_differs'],
  clock: systemClock,
  write: (line) => process.stdout.write(line),
});
const credentials = defaultProvider();
const aws = createAwsOptions(process.env, { credentials, clock: systemClock });
const client = createDynamoClient(aws('dynamodb'));
const secrets = openUpstreamSecrets(aws('secretsmanager'), { secretId: env.UPSTREAM_SECRET, log });

const readMembers = ({ USER_POOL: id }: AdminEnv): UserPool | undefined =>
  id === undefined ? undefined : createUserPool({ ...aws('cognito-idp'), id });

const admin = createAdmin({
  models: bundledModels,
  ...createDynamoStores({
    client,
    tableNames: tableNamesIn(env),
  }),
  projects: createDynamoProjectStore({ client, tableName: env.PROJECTS_TABLE }),
  identify,
  console: readConsole(env),
  members: readMembers(env),
  stateMode: env.STATE,
  secrets,
  upstream: createHttpUpstream({ secrets, roleCredentials: credentials, clock: systemClock }),
  log,
  clock: systemClock,
  randomBytes,
});

/** The schedule's event; the REST API's events have no such member. */
type Scheduled = { job: 'history' };

/** The admin function on AWS: operators' requests, and the schedule that brings the history up to date. */
export const handler = async (event: HttpEvent | Scheduled, context: object): Promise<unknown> =>
  'job' in event ? admin.history.run() : admin.handler(event, context);
