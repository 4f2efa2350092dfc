import type { KeyRecord, KeyStore } from '../stores/key-store.ts';
import type { MeterStore } from '../stores/meter-store.ts';
import type { Clock } from '../support/clock.ts';
import type { RandomBytes } from '../support/ids.ts';
import { createRotateKey, type RotatedKey, type Rotation } from './rotate-key.ts';
import { type CreatedKey, createStoreKey, type NewKey, newIdOf } from './store-key.ts';

/** A key of a project; by id, as lists show it. */
export type KeyRef = { projectId: string; keyId: string };

export type KeyLifecycle = {
  create(key: NewKey): Promise<CreatedKey>;
  list(projectId: string): Promise<KeyRecord[]>;
  /** At once for generations, within 15 s elsewhere; irreversible, safe to repeat. False: no such key. */
  revoke(ref: KeyRef): Promise<boolean>;
  /**
   * A successor with the same project, plan, name and counters. The old key works on for `overlapMs`, and never
   * past its own expiry. Undefined: no such active key.
   */
  rotate(rotation: KeyRef & Rotation): Promise<RotatedKey | undefined>;
};

/**
 * Keys from the cradle to the grave. A key's end is in its record and in its meter: caches may still hold the
 * record, but every generation passes the meter's condition.
 * @throws StoreUnavailable when nothing that matters was written; `create` and `revoke` may be repeated.
 */
export const createKeyLifecycle = (parts: {
  keys: KeyStore;
  meters: Pick<MeterStore, 'endKey'>;
  clock: Clock;
  randomBytes: RandomBytes;
}): KeyLifecycle => {
  const { keys, meters, clock, randomBytes } = parts;
  const storeKey = createStoreKey(parts);
  const rotateKey = createRotateKey({ keys, meters, storeKey });

  const find = async ({ projectId, keyId }: KeyRef): Promise<KeyRecord | undefined> =>
    (await keys.listKeys(projectId)).find((record) => record.keyId === keyId);

  return {
    create: (key) => storeKey({ ...key, meterId: newIdOf('mtr', randomBytes) }),
    list: (projectId) => keys.listKeys(projectId),
    revoke: async (ref) => {
      const record = await find(ref);
      if (!record || !(await keys.revokeKey(record.hash))) return false;
      await meters.endKey(record.meterId, record.keyId, 0);
      return true;
    },
    rotate: async (rotation) => {
      const old = await find(rotation);
      return old && rotateKey(old, rotation, clock.now());
    },
  };
};
