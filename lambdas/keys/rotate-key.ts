import type { KeyRecord, KeyStore } from '../stores/key-store.ts';
import type { MeterStore } from '../stores/meter-store.ts';
import { StoreUnavailable } from '../stores/store-unavailable.ts';
import { omitUndefined } from '../support/omit-undefined.ts';
import type { CreatedKey, StoreKey } from './store-key.ts';

/**
 * `isOldKeyEnded` is false if the tables failed after the successor was stored. The successor works; the old key
 * may outlive its overlap until it is revoked or rotated again.
 */
export type RotatedKey = CreatedKey & { old: KeyRecord; isOldKeyEnded: boolean };

/** How long the old key keeps working, and when (ms) its successor expires, if ever. */
export type Rotation = { overlapMs: number; expiresAt?: number };

/** Replaces the key `old` at `now` (ms); undefined if it is paused, revoked or expired. @throws StoreUnavailable */
export type RotateKey = (
  old: KeyRecord,
  rotation: Rotation,
  now: number,
) => Promise<RotatedKey | undefined>;

export const createRotateKey = (parts: {
  keys: Pick<KeyStore, 'replaceKey'>;
  meters: Pick<MeterStore, 'endKey'>;
  storeKey: StoreKey;
}): RotateKey => {
  const { keys, meters, storeKey } = parts;
  const endReplaced = async (
    old: KeyRecord,
    replacedBy: string,
    expiresAt: number,
  ): Promise<boolean> => {
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

  return async (old, { overlapMs, expiresAt }, now) => {
    const oldEnd = old.expiresAt ?? Number.POSITIVE_INFINITY;
    if (old.status !== 'active' || oldEnd <= now) return undefined;
    const { projectId, planId, meterId, name, rpm, quota, concurrency, models, require, budgets } =
      old;
    // The successor is stored first and no error is thrown after it; otherwise the operator might have no
    // working key for these counters.
    const created = await storeKey({
      projectId,
      planId,
      meterId,
      ...omitUndefined({ name, rpm, quota, concurrency, models, require, budgets, expiresAt }),
    });
    const endsAt = Math.min(now + overlapMs, oldEnd);
    return { ...created, old, isOldKeyEnded: await endReplaced(old, created.record.keyId, endsAt) };
  };
};
