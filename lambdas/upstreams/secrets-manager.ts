import type { AwsOptions } from '../aws/signed-client.ts';
import { asRecord, asString } from '../protocols/bytes/json.ts';
import type { Clock } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import { createReadSecret, type ReadSecret } from './read-secret.ts';
import type { Credential, UpstreamSecrets } from './secrets.ts';

type Options = { readSecret: ReadSecret; secretId: string; clock: Clock; log: Pick<Log, 'error'> };

/** At $0.05 per 10,000 reads, 600 environments cost about $9 a month; five minutes would cost $26. */
const TTL_MS = 15 * 60_000;
/**
 * Between two reads while a credential is rejected or missing. Below the 30 s within which a repaired one
 * must serve, because requests, which trigger the reads, may be seconds apart.
 */
const SEARCH_MS = 25_000;
/** After a failed read, while no value is known: fails fast instead of one read per request. */
const RETRY_MS = 1_000;
/** One read with its retries; a usual one takes 50 ms. */
const READ_MS = 4_000;

type Snapshot = { credentials: Record<string, string>; version: string };

/** @throws Error with a fixed text: JSON.parse's message would contain the secret. */
const parseCredentials = (text: string): Snapshot['credentials'] => {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error('The upstream secret is not JSON.');
  }
  const fields = asRecord(value);
  // Trimmed: pasted credentials often end in a line break.
  const credentials = Object.entries(fields ?? {}).map(([name, credential]): [string, string] => [
    name,
    asString(credential)?.trim() ?? '',
  ]);
  if (!fields || credentials.some(([, credential]) => credential === '')) {
    throw new Error('The upstream secret is not a JSON object of strings.');
  }
  return Object.fromEntries(credentials);
};

/** Rejects when `signal` aborts; `promise` continues then. */
const until = async <T>(signal: AbortSignal, promise: Promise<T>): Promise<T> => {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
};

/** Reads the secret, one read at a time, each with a timeout. */
const createReader = ({ readSecret, secretId, clock, log }: Options) => {
  let reading: { since: number; done: Promise<Snapshot> } | undefined;

  const read = async (since: number): Promise<Snapshot> => {
    const timeout = new AbortController();
    const cancel = clock.after(READ_MS, () => timeout.abort());
    try {
      const { text, version } = await readSecret(secretId, timeout.signal);
      return { credentials: parseCredentials(text), version };
    } catch (error) {
      // Logged even if an older value is still used: fix it before that value is rejected. A read that ends
      // long after its timeout was frozen with its request by the platform, and the next one reads again.
      if (clock.now() - since < 2 * READ_MS) {
        log.error('upstream_secret_failed', { failure: error instanceof Error ? error.name : '' });
      }
      throw error;
    } finally {
      cancel();
    }
  };

  return (onRead: (snapshot: Snapshot) => void): Promise<Snapshot> => {
    const now = clock.now();
    // The platform may have frozen a pending read with the request that began it: it is not joined.
    if (reading && now - reading.since < READ_MS) return reading.done;
    const done = read(now).then((snapshot) => {
      onRead(snapshot);
      return snapshot;
    });
    const mine = { since: now, done };
    reading = mine;
    const end = () => {
      if (reading === mine) reading = undefined;
    };
    done.then(end, end);
    return done;
  };
};

/** Reads credentials from one JSON secret: cached, one read at a time, kept if a read fails or hangs. */
export const createSecretsManagerSecrets = (options: Options): UpstreamSecrets => {
  const { clock } = options;
  const reader = createReader(options);
  let cached: Snapshot | undefined;
  let readAt = Number.NEGATIVE_INFINITY;
  let lastFailure: unknown;
  /** Names that are rejected or missing. */
  const unusable = new Set<string>();

  const read = async (): Promise<Snapshot> => {
    readAt = clock.now();
    try {
      return await reader((snapshot) => {
        if (snapshot.version !== cached?.version) unusable.clear();
        cached = snapshot;
        lastFailure = undefined;
      });
    } catch (error) {
      lastFailure = error;
      throw error;
    }
  };

  const isDue = (): boolean => {
    const interval = unusable.size > 0 || lastFailure !== undefined ? SEARCH_MS : TTL_MS;
    return clock.now() - readAt >= interval;
  };
  const refreshBehind = () => {
    if (isDue()) read().catch(() => undefined);
  };

  const credentialIn = (snapshot: Snapshot, name: string): Credential | undefined => {
    const { credentials, version } = snapshot;
    const value = Object.hasOwn(credentials, name) ? credentials[name] : undefined;
    return value === undefined ? undefined : { value, version };
  };

  /** For callers without a cached value. */
  const readNow = (signal: AbortSignal): Promise<Snapshot> => {
    if (lastFailure !== undefined && clock.now() - readAt < RETRY_MS) {
      return Promise.reject(lastFailure);
    }
    return until(signal, read());
  };

  return {
    prefetch: refreshBehind,
    get: async (name, signal) => {
      const known = cached && credentialIn(cached, name);
      if (known) {
        refreshBehind();
        return known;
      }
      // Shortens the time to the next read, which may make it due.
      if (cached) unusable.add(name);
      const snapshot = cached && !isDue() ? cached : await readNow(signal);
      const credential = credentialIn(snapshot, name);
      if (credential) return credential;
      unusable.add(name);
      throw new Error(`The upstream secret has no field '${name}'.`);
    },
    refused: async (name, version, signal) => {
      if (cached?.version === version) {
        unusable.add(name);
        if (clock.now() - readAt >= SEARCH_MS) await until(signal, read()).catch(() => undefined);
        signal.throwIfAborted();
      }
      const current = cached && credentialIn(cached, name);
      return current?.version === version ? undefined : current;
    },
    accepted: (name) => {
      unusable.delete(name);
    },
    version: () => {
      if (cached) refreshBehind();
      return cached?.version;
    },
  };
};

/** The upstream secret of a stage in Secrets Manager, which `aws` says how to call. */
export const openUpstreamSecrets = (aws: AwsOptions, options: Pick<Options, 'secretId' | 'log'>) =>
  createSecretsManagerSecrets({ readSecret: createReadSecret(aws), clock: aws.clock, ...options });
