import { type Clock, systemClock } from '../lambdas/support/clock.ts';
import type { Log } from '../lambdas/support/log.ts';
import { createHttpUpstream } from '../lambdas/upstreams/http-upstream.ts';
import { createReadSecret } from '../lambdas/upstreams/read-secret.ts';
import { createSecretsManagerSecrets } from '../lambdas/upstreams/secrets-manager.ts';
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
  const readSecret = createReadSecret({ ...LOCAL_AWS, endpoint, clock: systemClock });
  const secrets = createSecretsManagerSecrets({
    readSecret,
    secretId: UPSTREAM_SECRET,
    clock,
    log,
  });
  return createHttpUpstream({ secrets, clock });
};
