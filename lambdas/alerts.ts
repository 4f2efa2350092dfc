import { defaultProvider } from '@aws-sdk/credential-provider-node';
import { createAwsOptions } from './aws/endpoint.ts';
import { createJsonService } from './aws/json-service.ts';
import { createPublish } from './aws/topic.ts';
import { ALERT_QUEUE, createAlerts } from './create-alerts.ts';
import { alertsEnv, readEnv } from './env.ts';
import { createDynamoAlertStore } from './stores/dynamo/alert-store.ts';
import { createDynamoClient } from './stores/dynamo/client.ts';
import { systemClock as clock } from './support/clock.ts';
import { createLog } from './support/log.ts';
import { openUpstreamSecrets } from './upstreams/secrets-manager.ts';
import { createPostJson, isInner } from './webhooks/post.ts';

const env = readEnv(alertsEnv(), process.env);
const log = createLog((line) => process.stdout.write(line));
const aws = createAwsOptions(process.env, { credentials: defaultProvider(), clock });

/** Tells people of alarms and of lines of the log, on AWS. What fails is called again by Lambda, or by the queue. */
export const handler = createAlerts({
  ...{ env, clock, log },
  store: createDynamoAlertStore({
    client: createDynamoClient(aws('dynamodb')),
    tableName: env.HISTORY_TABLE,
  }),
  secrets: openUpstreamSecrets(aws('secretsmanager'), { secretId: env.UPSTREAM_SECRET, log }),
  queue: createJsonService(ALERT_QUEUE, aws('sqs')),
  publish: createPublish(aws('sns')),
  post: createPostJson((address) => !isInner(address)),
});
