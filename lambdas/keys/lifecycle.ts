import type { KeyRecord, KeyStore } from '../stores/key-store.ts';
import type { MeterStore } from '../stores/meter-store.ts';
import { StoreUnavailable } from '../stores/store-unavailable.ts';
import type { Clock } from '../support/clock.ts';
import { type RandomBytes, randomBase62 } from '../support/ids.ts';
import { hashKey, mintKey, startOf } from './api-key.ts';

export type NewKey = { projectId: string; planId: string; name?: string; expiresAt?: number };
/** `key` is in clear, this once; `record` is what was stored. */
export type CreatedKey = { key: string; record: KeyRecord };
/**
 * `isOldKeyEnded` false: the tables failed after the successor was stored. It works; the old key may outlive
 * its overlap until it is revoked or rotated again.
 */
export type RotatedKey = CreatedKey & { isOldKeyEnded: boolean };
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
  rotate(ref: KeyRef & { overlapMs: number; expiresAt?: number }): Promise<RotatedKey | undefined>;
};

const ID_LENGTH = 20;

/**
 * Keys from the cradle to the grave. A key's end is in its record and in its meter: caches may still hold the
 * record, but every generation passes the meter's condition.
 * @throws StoreUnavailable when nothing that matters was written; `create` and `revoke` may be repeated.
 */
export const createKeyLifecycle = ({
  keys,
  meters,
  clock,
  randomBytes,
}: {
  keys: KeyStore;
  meters: Pick<MeterStore, 'endKey'>;
  clock: Clock;
  randomBytes: RandomBytes;
}): KeyLifecycle => {
  const newId = (kind: 'key' | 'mtr') => `${kind}_${randomBase62(ID_LENGTH, randomBytes)}`;

  const store = async (fields: NewKey & { meterId: string }): Promise<CreatedKey> => {
    const key = mintKey(randomBytes);
    const record: KeyRecord = {
      hash: hashKey(key),
      keyId: newId('key'),
      start: startOf(key),
      status: 'active',
      createdAt: clock.now(),
      ...fields,
    };
    const { meterId, keyId, expiresAt } = record;
    // The meter first: no key may be known whose end only caches and clocks of others would tell.
    if (expiresAt !== undefined) await meters.endKey(meterId, keyId, expiresAt);
    if (await keys.createKey(record)) return { key, record };
    // 190 random bits do not collide: the random source is broken, and no key may come of it.
    throw new Error('The random source repeated itself.');
  };

  const find = async ({ projectId, keyId }: KeyRef): Promise<KeyRecord | undefined> =>
    (await keys.listKeys(projectId)).find((record) => record.keyId === keyId);

  const endReplaced = async (
    old: KeyRecord,
    replacedBy: string,
    expiresAt: number,
  ): Promise<boolean> => {
    try {
      // False if it was revoked, or got an earlier end, since it was read: then it ends even sooner.
      await keys.replaceKey(old.hash, { replacedBy, expiresAt });
      await meters.endKey(old.meterId, old.keyId, expiresAt);
      return true;
    } catch (error) {
      if (error instanceof StoreUnavailable) return false;
      throw error;
    }
  };

  return {
    create: (key) => store({ ...key, meterId: newId('mtr') }),
    list: (projectId) => keys.listKeys(projectId),
    revoke: async (ref) => {
      const record = await find(ref);
      if (!record || !(await keys.revokeKey(record.hash))) return false;
      await meters.endKey(record.meterId, record.keyId, 0);
      return true;
    },
    rotate: async ({ overlapMs, expiresAt, ...ref }) => {
      const old = await find(ref);
      const now = clock.now();
      const oldEnd = old?.expiresAt ?? Number.POSITIVE_INFINITY;
      if (!old || old.status === 'revoked' || oldEnd <= now) return undefined;
      const { projectId, planId, meterId, name } = old;
      // The successor first, and then no throw: the counters must not be left without a key that is known.
      const created = await store({
        projectId,
        planId,
        meterId,
        ...(name !== undefined && { name }),
        ...(expiresAt !== undefined && { expiresAt }),
      });
      const endsAt = Math.min(now + overlapMs, oldEnd);
      return { ...created, isOldKeyEnded: await endReplaced(old, created.record.keyId, endsAt) };
    },
  };
};
