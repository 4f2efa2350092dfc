import type { KeyChange, KeyLimits, KeyRecord, KeyStore } from '../stores/key-store.ts';
import type { MeterStore } from '../stores/meter-store.ts';
import { StoreUnavailable } from '../stores/store-unavailable.ts';
import type { Clock } from '../support/clock.ts';
import type { RandomBytes } from '../support/ids.ts';
import { omitUndefined } from '../support/objects.ts';
import {
  type CreatedKey,
  createStoreKey,
  type NewKey,
  newIdOf,
  type StoreKey,
} from './store-key.ts';

/**
 * `isOldKeyEnded` is false if the tables failed after the successor was stored. The successor works; the old key
 * may outlive its overlap until it is revoked or rotated again.
 */
type RotatedKey = CreatedKey & { old: KeyRecord; isOldKeyEnded: boolean };

/**
 * How long the old key keeps working, and when (ms) its successor expires, if ever; `successorId` is random by default. `budgets`
 * are those of the successor.
 */
type Rotation = Pick<KeyLimits, 'budgets'> & {
  overlapMs: number;
  expiresAt?: number;
  successorId?: string;
};

/** Replaces the key `old` at `now` (ms); undefined if it is paused, revoked or expired. @throws StoreUnavailable */
type RotateKey = (
  old: KeyRecord,
  rotation: Rotation,
  now: number,
) => Promise<RotatedKey | undefined>;

const createRotateKey = (parts: {
  keys: Pick<KeyStore, 'replaceKey'>;
  meters: Pick<MeterStore, 'endKey'>;
  storeKey: StoreKey;
}): RotateKey => {
  const { keys, meters, storeKey } = parts;
  const endReplaced = async (old: KeyRecord, replacedBy: string, expiresAt: number) => {
    try {
      // False if the key was revoked or got an earlier end since it was read: then it ends even sooner.
      await keys.replaceKey(old.hash, { replacedBy, expiresAt });
      await meters.endKey(old.meterId, old.keyId, expiresAt);
      return true;
    } catch (error) {
      if (error instanceof StoreUnavailable) return false;
      throw error;
    }
  };

  return async (old, { overlapMs, expiresAt, budgets, successorId: keyId }, now) => {
    const oldEnd = old.expiresAt ?? Number.POSITIVE_INFINITY;
    if (old.status !== 'active' || oldEnd <= now) return undefined;
    const { projectId, planId, meterId, name, rpm, quota, concurrency, models, require } = old;
    const limits = { rpm, quota, concurrency, models, require, budgets };
    // The successor is stored first and no error is thrown after it; otherwise the operator might have no
    // working key for these counters.
    const created = await storeKey({
      ...{ projectId, planId, meterId },
      ...omitUndefined({ name, ...limits, expiresAt, keyId }),
    });
    const endsAt = Math.min(now + overlapMs, oldEnd);
    return { ...created, old, isOldKeyEnded: await endReplaced(old, created.record.keyId, endsAt) };
  };
};

/** Identifies a key by its project and by the id that lists show. */
export type KeyRef = { projectId: string; keyId: string };

export type KeyLifecycle = {
  create(key: NewKey): Promise<CreatedKey>;
  list(projectId: string): Promise<KeyRecord[]>;
  /** As it is; a new key is found within a second. */
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

  // What the index has of a key is up to a second behind: a successor of that would lack its last changes.
  const find = async ({ projectId, keyId }: KeyRef) => {
    const listed = await keys.findKeyById(projectId, keyId);
    return listed && keys.findKey(listed.hash);
  };

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
