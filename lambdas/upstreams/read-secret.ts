import type { Timeouts } from '../aws/exchange.ts';
import { createJsonService } from '../aws/json-service.ts';
import { AwsError, type AwsOptions } from '../aws/signed-client.ts';
import { pause } from '../support/clock.ts';

export type StoredSecret = { text: string; version: string };

/** Returns a secret by its name or ARN, until `signal` aborts. @throws AwsError, or the error of the connection */
export type ReadSecret = (secretId: string, signal: AbortSignal) => Promise<StoredSecret>;

/** One attempt ends well below the limit of a whole read (secrets-manager.ts), so that another can follow. */
const TIMEOUTS: Timeouts = { connectMs: 500, requestMs: 1_500 };
const MAX_ATTEMPTS = 3;
const PAUSE_MS = 100;

/** Another attempt may succeed: no response, a 5xx, or too many calls. */
const mayRetry = (error: unknown): boolean =>
  !(error instanceof AwsError) || error.status >= 500 || error.name === 'ThrottlingException';

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** `ReadSecret` on AWS Secrets Manager's JSON protocol, without the SDK. */
export const createReadSecret = (options: AwsOptions): ReadSecret => {
  const service = createJsonService(
    {
      service: 'secretsmanager',
      targetPrefix: 'secretsmanager',
      version: '1.1',
      timeouts: TIMEOUTS,
    },
    options,
  );
  return async (secretId, signal) => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const found = await service.call('GetSecretValue', { SecretId: secretId }, signal);
        return { text: textOf(found.SecretString), version: textOf(found.VersionId) };
      } catch (error) {
        if (signal.aborted || attempt >= MAX_ATTEMPTS || !mayRetry(error)) throw error;
        await pause(options.clock, PAUSE_MS * attempt);
      }
    }
  };
};
