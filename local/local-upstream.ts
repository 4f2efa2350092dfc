import { type Clock, systemClock } from '../lambdas/support/clock.ts';
import type { Log } from '../lambdas/support/log.ts';
import { createHttpUpstream } from '../lambdas/upstreams/http-upstream.ts';
import { createReadSecret } from '../lambdas/upstreams/read-secret.ts';
import type { UpstreamSecrets } from '../lambdas/upstreams/secrets.ts';
import { createSecretsManagerSecrets } from '../lambdas/upstreams/secrets-manager.ts';
import type { Upstream } from '../lambdas/upstreams/upstream.ts';
import { LOCAL_AWS } from './local-aws.ts';

/** Name of the credentials secret. A deployed stack uses the secret's ARN instead. */
export const UPSTREAM_SECRET = 'local-upstreams';

/** The secrets that run on AWS, read from the Secrets Manager at `endpoint`. */
export const createLocalSecrets = (parts: {
  endpoint: string;
  clock: Clock;
  log: Log;
}): UpstreamSecrets => {
  const { endpoint, clock, log } = parts;
  const readSecret = createReadSecret({ ...LOCAL_AWS, endpoint, clock: systemClock });
  return createSecretsManagerSecrets({ readSecret, secretId: UPSTREAM_SECRET, clock, log });
};

/** The HTTP upstream that runs on AWS, with those secrets. */
export const createLocalUpstream = (options: Parameters<typeof createLocalSecrets>[0]): Upstream =>
  createHttpUpstream({ secrets: createLocalSecrets(options), clock: options.clock });
