import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KeyRecord, KeyStore } from '../../lambdas/stores/key-store.ts';

const NOW = Date.parse('2026-11-21T11:30:00Z');

/** Contract of every key store. */
export const keyStoreContract = (
  setUp: () => Promise<{ store: KeyStore; close(): Promise<void> }>,
): void => {
  describe('a key store', () => {
    let store: KeyStore;
    let close: () => Promise<void>;
    beforeAll(async () => {
      ({ store, close } = await setUp());
    });
    afterAll(() => close());

    const recordWith = (over: Partial<KeyRecord> = {}): KeyRecord => ({
      hash: randomUUID(),
      keyId: `key_${randomUUID()}`,
      projectId: `prj_${randomUUID()}`,
      planId: 'team',
      meterId: 'mtr',
      start: 'mrk_live_a1B2',
      status: 'active',
      createdAt: NOW,
      ...over,
    });
    const created = async (over: Partial<KeyRecord> = {}): Promise<KeyRecord> => {
      const record = recordWith(over);
      await store.createKey(record);
      return record;
    };
    const replace = (hash: string, expiresAt: number) =>
      store.replaceKey(hash, { replacedBy: 'key_next', expiresAt });

    test.each([{}, { name: 'agent', expiresAt: NOW + 1, replacedBy: 'key_next' }])(
      'a key is read as it was stored: %o',
      async (over) => {
        const record = await created(over);
        expect(await store.findKey(record.hash)).toEqual(record);
      },
    );

    test('an unknown hash finds no key', async () => {
      expect(await store.findKey(randomUUID())).toBeUndefined();
    });

    test('creating the same record twice succeeds, another record of the same hash fails', async () => {
      const record = await created();
      expect(await store.createKey(record)).toBe(true);
      expect(await store.createKey(recordWith({ hash: record.hash }))).toBe(false);
      expect(await store.findKey(record.hash)).toEqual(record);
    });

    test('a list holds the keys of its project only, sorted by id, revoked ones included', async () => {
      const projectId = `prj_${randomUUID()}`;
      for (const keyId of ['key_b', 'key_c', 'key_a']) await created({ keyId, projectId });
      const stranger = await created();
      const [, second] = await store.listKeys(projectId);
      await store.revokeKey(second?.hash ?? '');
      const listed = await store.listKeys(projectId);
      expect(listed.map(({ keyId, status }) => `${keyId} ${status}`)).toEqual([
        'key_a active',
        'key_b revoked',
        'key_c active',
      ]);
      expect(listed.map(({ hash }) => hash)).not.toContain(stranger.hash);
      expect(await store.listKeys(`prj_${randomUUID()}`)).toEqual([]);
    });

    test('a list holds more keys than fit on a page', async () => {
      const projectId = `prj_${randomUUID()}`;
      const name = 'n'.repeat(20_000);
      await Promise.all(Array.from({ length: 60 }, () => created({ projectId, name })));
      expect(await store.listKeys(projectId)).toHaveLength(60);
    });

    test('revoking a key is permanent and idempotent', async () => {
      const { hash } = await created();
      expect([await store.revokeKey(hash), await store.revokeKey(hash)]).toEqual([true, true]);
      expect(await store.findKey(hash)).toMatchObject({ status: 'revoked' });
      expect(await replace(hash, NOW + 1)).toBe(false);
    });

    test('revoking or replacing an unknown key returns false and creates none', async () => {
      const hash = randomUUID();
      expect([await store.revokeKey(hash), await replace(hash, NOW)]).toEqual([false, false]);
      expect(await store.findKey(hash)).toBeUndefined();
    });

    test('a replaced key names its successor and its expiry only moves earlier', async () => {
      const { hash } = await created();
      expect(await replace(hash, NOW + 1_000)).toBe(true);
      expect(await replace(hash, NOW + 1_001)).toBe(false);
      expect(await replace(hash, NOW + 999)).toBe(true);
      expect(await store.findKey(hash)).toMatchObject({
        status: 'active',
        replacedBy: 'key_next',
        expiresAt: NOW + 999,
      });
    });
  });
};
