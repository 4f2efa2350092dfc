import type { KeyChange, KeyRecord, KeyStore } from '../stores/key-store.ts';
import type { MeterStore } from '../stores/meter-store.ts';
import type { Clock } from '../support/clock.ts';
import type { RandomBytes } from '../support/ids.ts';
import { createRotateKey, type RotatedKey, type Rotation } from './rotate-key.ts';
import { type CreatedKey, createStoreKey, type NewKey, newIdOf } from './store-key.ts';

/** Identifies a key by its project and by the id that lists show. */
export type KeyRef = { projectId: string; keyId: string };

export type KeyLifecycle = {
  create(key: NewKey): Promise<CreatedKey>;
  list(projectId: string): Promise<KeyRecord[]>;
  /** Up to a second behind writes. */
  find(ref: KeyRef): Promise<KeyRecord | undefined>;
  /** Applies within 15 s. The record before and after it; undefined if the key is revoked. */
  change(
    key: Pick<KeyRecord, 'hash'>,
    change: KeyChange,
  ): Promise<{ before: KeyRecord; after: KeyRecord } | undefined>;
  /** Applies at once to generations, within 15 s elsewhere. Irreversible, idempotent. The record before it, if any. */
  revoke(ref: KeyRef): Promise<KeyRecord | undefined>;
  /**
   * Creates a successor with the same project, plan, name and counters. The old key keeps working for `overlapMs`,
   * but never past its expiry. Undefined if no such active key exists.
   */
  rotate(rotation: KeyRef & Rotation): Promise<RotatedKey | undefined>;
};

/**
 * Creates, lists, rotates and revokes API keys. A key's end is stored in its record and in its meter: the record
 * may still be cached as active, but every generation is subject to the meter's condition.
 * @throws StoreUnavailable if no usable change was written; `create` and `revoke` may be repeated
 */
export const createKeyLifecycle = (parts: {
  keys: KeyStore;
  meters: Pick<MeterStore, 'endKey' | 'revokeKey'>;
  clock: Clock;
  randomBytes: RandomBytes;
}): KeyLifecycle => {
  const { keys, meters, clock, randomBytes } = parts;
  const storeKey = createStoreKey(parts);
  const rotateKey = createRotateKey({ keys, meters, storeKey });

  const find = ({ projectId, keyId }: KeyRef) => keys.findKeyById(projectId, keyId);

  return {
    create: (key) => storeKey({ ...key, meterId: newIdOf('mtr', randomBytes) }),
    list: (projectId) => keys.listKeys(projectId),
    find,
    change: ({ hash }, change) => keys.changeKey(hash, change),
    revoke: async (ref) => {
      const record = await find(ref);
      if (!record || !(await keys.revokeKey(record.hash))) return undefined;
      await meters.revokeKey(record.meterId, record.keyId, clock.now());
      return record;
    },
    rotate: async (rotation) => {
      const old = await find(rotation);
      return old && rotateKey(old, rotation, clock.now());
    },
  };
};
