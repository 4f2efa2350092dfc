import { GetSecretValueCommand, type SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import * as z from 'zod';
import type { Clock } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import type { UpstreamSecrets } from './secrets.ts';

type Options = {
  client: SecretsManagerClient;
  secretId: string;
  clock: Clock;
  log: Pick<Log, 'error'>;
};

/** At $0.05 per 10,000 reads, 600 environments cost about $9 a month; five minutes would cost $26. */
const TTL_MS = 15 * 60_000;
/** Minimum between two reads, so that a wrong credential or an outage does not cause one per request. */
const MIN_INTERVAL_MS = 30_000;

/** Trimmed: pasted credentials often end in a line break. */
const Credentials = z.record(z.string(), z.string().trim().min(1));
type Credentials = z.infer<typeof Credentials>;

/** @throws Error with a fixed text: JSON.parse's message would contain the secret. */
const parseCredentials = (text: string | undefined): Credentials => {
  let value: unknown;
  try {
    value = JSON.parse(text ?? '');
  } catch {
    throw new Error('The upstream secret is not JSON.');
  }
  const parsed = Credentials.safeParse(value);
  if (!parsed.success) throw new Error('The upstream secret is not a JSON object of strings.');
  return parsed.data;
};

/** Reads credentials from one JSON secret: cached, one read at a time, kept if a read fails. */
export const createSecretsManagerSecrets = ({
  client,
  secretId,
  clock,
  log,
}: Options): UpstreamSecrets => {
  let cached: Credentials | undefined;
  let readAt = Number.NEGATIVE_INFINITY;
  let freshUntil = Number.NEGATIVE_INFINITY;
  let reading: Promise<Credentials> | undefined;

  const read = async (): Promise<Credentials> => {
    readAt = clock.now();
    freshUntil = readAt + MIN_INTERVAL_MS;
    const answer = await client.send(new GetSecretValueCommand({ SecretId: secretId }));
    cached = parseCredentials(answer.SecretString);
    freshUntil = readAt + TTL_MS;
    return cached;
  };

  const current = async (): Promise<Credentials> => {
    if (cached && clock.now() < freshUntil) return cached;
    reading ??= read()
      .catch((error: unknown) => {
        // Logged even if an older value is still used: fix it before that value is rejected.
        log.error('upstream_secret_failed', { failure: error instanceof Error ? error.name : '' });
        throw error;
      })
      .finally(() => {
        reading = undefined;
      });
    try {
      return await reading;
    } catch (error) {
      if (cached) return cached;
      throw error;
    }
  };

  return {
    get: async (name) => {
      const credentials = await current();
      const credential = Object.hasOwn(credentials, name) ? credentials[name] : undefined;
      if (credential === undefined) throw new Error(`The upstream secret has no field '${name}'.`);
      return credential;
    },
    refresh: () => {
      freshUntil = Math.min(freshUntil, readAt + MIN_INTERVAL_MS);
    },
  };
};
