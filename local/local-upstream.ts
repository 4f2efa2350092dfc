import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import type { Clock } from '../lambdas/support/clock.ts';
import type { Log } from '../lambdas/support/log.ts';
import { createHttpUpstream } from '../lambdas/upstreams/http-upstream.ts';
import {
  createSecretsManagerSecrets,
  SECRETS_CLIENT_OPTIONS,
} from '../lambdas/upstreams/secrets-manager.ts';
import type { Upstream } from '../lambdas/upstreams/upstream.ts';
import { LOCAL_AWS } from './local-aws.ts';

/** Name of the credentials secret. A deployed stack uses the secret's ARN instead. */
export const UPSTREAM_SECRET = 'local-upstreams';

/** The HTTP upstream that runs on AWS, with credentials from the Secrets Manager at `endpoint`. */
export const createLocalUpstream = ({
  endpoint,
  clock,
  log,
}: {
  endpoint: string;
  clock: Clock;
  log: Log;
}): Upstream => {
  const client = new SecretsManagerClient({ ...SECRETS_CLIENT_OPTIONS, ...LOCAL_AWS, endpoint });
  const secrets = createSecretsManagerSecrets({ client, secretId: UPSTREAM_SECRET, clock, log });
  return createHttpUpstream({ secrets, clock });
};
