import type { KeyLimits, KeyRecord, KeyStore } from '../stores/key-store.ts';
import type { MeterStore } from '../stores/meter-store.ts';
import type { Clock } from '../support/clock.ts';
import { type RandomBytes, randomBase62 } from '../support/ids.ts';
import { hashKey, mintKey, startOf } from './api-key.ts';

export type NewKey = KeyLimits & {
  projectId: string;
  planId: string;
  /** @default a random id */
  keyId?: string;
  name?: string;
  expiresAt?: number;
};
/** `key` is in clear and returned only once; `record` is what was stored. */
export type CreatedKey = { key: string; record: KeyRecord };

/** Creates and stores a key that counts on the given meter. @throws StoreUnavailable */
export type StoreKey = (fields: NewKey & { meterId: string }) => Promise<CreatedKey>;

const ID_LENGTH = 20;

/** `key_` or `mtr_` and 20 random characters. */
export const newIdOf = (kind: 'key' | 'mtr', randomBytes: RandomBytes): string =>
  `${kind}_${randomBase62(ID_LENGTH, randomBytes)}`;

export const createStoreKey =
  ({
    keys,
    meters,
    clock,
    randomBytes,
  }: {
    keys: Pick<KeyStore, 'createKey'>;
    meters: Pick<MeterStore, 'endKey'>;
    clock: Clock;
    randomBytes: RandomBytes;
  }): StoreKey =>
  async (fields) => {
    const key = mintKey(randomBytes);
    const record: KeyRecord = {
      hash: hashKey(key),
      keyId: newIdOf('key', randomBytes),
      start: startOf(key),
      status: 'active',
      createdAt: clock.now(),
      ...fields,
    };
    const { meterId, keyId, expiresAt } = record;
    // The end is written to the meter first. Otherwise a key could be in use whose expiry is enforced only by
    // caches and other machines' clocks.
    if (expiresAt !== undefined) await meters.endKey(meterId, keyId, expiresAt);
    if (await keys.createKey(record)) return { key, record };
    // 190 random bits do not collide: the random source is broken, so no key is issued.
    throw new Error('The random source returned the same key twice.');
  };
