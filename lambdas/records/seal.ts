import { hash } from 'node:crypto';
import type { RecordStore, RequestRecord } from '../stores/record-store.ts';
import { type Clock, HOUR_MS, MINUTE_MS } from '../support/clock.ts';
import type { RandomBytes } from '../support/ids.ts';
import { oncePer } from '../support/memo.ts';

/** Bytes of a SHA-512. */
const BLOCK = 64;
/** Bytes of a key. */
const KEY = 32;
/** One key is shared for so long, and kept as long as a provider's cache may live; DynamoDB deletes it within some hours more. */
const PERIOD_MS = 10 * MINUTE_MS;
const LIFE_MS = PERIOD_MS + HOUR_MS;

/** Adds the bits that a key gives for a request, 64 bytes a hash; a second time, it removes them. */
const addBits = (bytes: Uint8Array, secret: string): void => {
  let bits = '';
  for (let at = 0; at < bytes.length; at += 1) {
    const within = at % BLOCK;
    if (within === 0) bits = hash('sha512', `${at} ${secret}`, 'binary');
    bytes[at] = (bytes[at] ?? 0) ^ bits.charCodeAt(within);
  }
};

/** Returns what seals the hashes of a request's parts; undefined where the key cannot be read. */
export type Seal = (id: string, parts: Uint16Array) => Promise<string | undefined>;

/**
 * A record outlives a provider's cache, and hashes in it must not. They are sealed with a random key that all environments share for
 * ten minutes and that expires an hour later: no request writes an item for them.
 */
export const createSeal = (options: {
  store: Pick<RecordStore, 'shareSealKey'>;
  clock: Clock;
  randomBytes: RandomBytes;
}): Seal => {
  const { store, clock, randomBytes } = options;
  let latest: { period: number; key: Promise<string | undefined> } | undefined;
  const share = (period: number) => {
    const key = Buffer.from(randomBytes(KEY)).toString('base64url');
    const proposed = { key, expiresAt: period * PERIOD_MS + LIFE_MS };
    return store.shareSealKey(period, proposed).catch(() => {
      latest = undefined;
      return undefined;
    });
  };
  return async (id, parts) => {
    const period = Math.floor(clock.now() / PERIOD_MS);
    if (latest?.period !== period) latest = { period, key: share(period) };
    const key = await latest.key;
    if (key === undefined) return undefined;
    const bytes = Buffer.from(Uint16Array.from(parts).buffer);
    addBits(bytes, key + id);
    return `${period.toString(36)}.${bytes.toString('base64url')}`;
  };
};

/** Returns a function that gives the hashes of a request's parts; undefined once their key has expired. */
export const createOpen = (store: Pick<RecordStore, 'findSealKey'>) => {
  const keyOf = oncePer(new Map<string, Promise<string | undefined>>(), (period) =>
    store.findSealKey(Number.parseInt(period, 36)),
  );
  return async ({ id, sealed }: RequestRecord): Promise<Uint16Array | undefined> => {
    const [period, text] = sealed?.split('.') ?? [];
    if (period === undefined || text === undefined) return undefined;
    const key = await keyOf(period);
    if (key === undefined) return undefined;
    const bytes = Uint8Array.from(Buffer.from(text, 'base64url'));
    addBits(bytes, key + id);
    return new Uint16Array(bytes.buffer);
  };
};
