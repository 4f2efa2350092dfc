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
/** The least time between two reads: neither a wrong credential nor an outage may turn into one read a request. */
const MIN_INTERVAL_MS = 30_000;

/** A credential that was pasted often ends in a line break. */
const Credentials = z.record(z.string(), z.string().trim().min(1));
type Credentials = z.infer<typeof Credentials>;

/** @throws Error that quotes nothing: JSON.parse's own message would hold the secret. */
const parseCredentials = (text: string | undefined): Credentials => {
  let value: unknown;
  try {
    value = JSON.parse(text ?? '');
  } catch {
    throw new Error('The upstream secret is not JSON.');
  }
  const parsed = Credentials.safeParse(value);
  if (!parsed.success) throw new Error('The upstream secret is not a JSON object of texts.');
  return parsed.data;
};

/** Credentials from one JSON secret: cached, read by one request at a time, kept when a read fails. */
export const createSecretsManagerSecrets = ({
  client,
  secretId,
  clock,
  log,
}: Options): UpstreamSecrets => {
  let known: Credentials | undefined;
  let readAt = Number.NEGATIVE_INFINITY;
  let freshUntil = Number.NEGATIVE_INFINITY;
  let reading: Promise<Credentials> | undefined;

  const read = async (): Promise<Credentials> => {
    readAt = clock.now();
    freshUntil = readAt + MIN_INTERVAL_MS;
    const answer = await client.send(new GetSecretValueCommand({ SecretId: secretId }));
    known = parseCredentials(answer.SecretString);
    freshUntil = readAt + TTL_MS;
    return known;
  };

  const current = async (): Promise<Credentials> => {
    if (known && clock.now() < freshUntil) return known;
    reading ??= read()
      .catch((error: unknown) => {
        // Told even while an older value serves on: somebody has to act before that one is refused.
        log.error('upstream_secret_failed', { failure: error instanceof Error ? error.name : '' });
        throw error;
      })
      .finally(() => {
        reading = undefined;
      });
    try {
      return await reading;
    } catch (error) {
      if (known) return known;
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
