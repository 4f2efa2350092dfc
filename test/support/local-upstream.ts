import { type Clock, systemClock } from '../../lambdas/support/clock.ts';
import type { Log } from '../../lambdas/support/log.ts';
import { createHttpUpstream } from '../../lambdas/upstreams/http-upstream.ts';
import { createReadSecret } from '../../lambdas/upstreams/read-secret.ts';
import { createSecretsManagerSecrets } from '../../lambdas/upstreams/secrets-manager.ts';
import type { Upstream } from '../../lambdas/upstreams/upstream.ts';
import { LOCAL_AWS } from './local-aws.ts';

/** Name of the credentials secret. A deployed stack uses the secret's ARN instead. */
export const UPSTREAM_SECRET = 'local-upstreams';

/** The HTTP upstream that runs on AWS, with the secrets in the Secrets Manager at `endpoint`. */
export const createLocalUpstream = (parts: {
  endpoint: string;
  clock: Clock;
  log: Log;
}): Upstream => {
  const { endpoint, clock, log } = parts;
  const readSecret = createReadSecret({ ...LOCAL_AWS, endpoint, clock: systemClock });
  const options = { readSecret, secretId: UPSTREAM_SECRET, clock, log };
  return createHttpUpstream({ secrets: createSecretsManagerSecrets(options), clock });
};
