import * as z from 'zod/mini';
import { KEYS_BY_PROJECT, PARTITION_KEY } from '../../tables.ts';
import type { KeyRecord, KeyStore } from '../key-store.ts';
import type { DynamoClient } from './dynamo-client.ts';
import { createTable, type Item } from './table.ts';

const StoredKey = z.object({
  [PARTITION_KEY]: z.string(),
  keyId: z.string(),
  projectId: z.string(),
  planId: z.string(),
  meterId: z.string(),
  start: z.string(),
  name: z.exactOptional(z.string()),
  status: z.enum(['active', 'revoked']),
  createdAt: z.number(),
  expiresAt: z.exactOptional(z.number()),
  replacedBy: z.exactOptional(z.string()),
});

const readKey = (item: Item): KeyRecord => {
  const { [PARTITION_KEY]: hash, ...record } = StoredKey.parse(item);
  return { hash, ...record };
};

const REVOKE = { update: 'SET #status = :revoked', condition: 'attribute_exists(#keyId)' };

const REPLACE = {
  update: 'SET #replacedBy = :replacedBy, #expiresAt = :expiresAt',
  condition: '#status = :active AND (attribute_not_exists(#expiresAt) OR #expiresAt >= :expiresAt)',
};

/** A `SET` of every field, conditional on the record's absence. */
const createWrite = (fields: [string, unknown][]) => ({
  write: {
    update: `SET ${fields.map(([field]) => `#${field} = :${field}`).join(', ')}`,
    condition: 'attribute_not_exists(#keyId)',
  },
  bindings: {
    names: Object.fromEntries(fields.map(([field]) => [`#${field}`, field])),
    values: Object.fromEntries(fields.map(([field, value]) => [`:${field}`, value])),
  },
});

/** `KeyStore` on the keys table: one item per key, by its hash. */
export const createDynamoKeyStore = (deps: {
  client: DynamoClient;
  tableName: string;
}): KeyStore => {
  const table = createTable(deps);
  return {
    findKey: async (hash) => {
      const item = await table.read(hash);
      return item && readKey(item);
    },
    createKey: async ({ hash, ...record }) => {
      const fields = Object.entries(record).filter(([, value]) => value !== undefined);
      const { write, bindings } = createWrite(fields);
      const { applied } = await table.apply(hash, write, bindings);
      if (applied) return true;
      // The SDK may have repeated a write whose response was lost: then this record is the stored one.
      return (await table.read(hash))?.keyId === record.keyId;
    },
    listKeys: async (projectId) => {
      const { indexName, partitionKey } = KEYS_BY_PROJECT;
      return (await table.query({ indexName, partitionKey, value: projectId })).map(readKey);
    },
    revokeKey: async (hash) => {
      const { applied } = await table.apply(hash, REVOKE, {
        names: { '#status': 'status', '#keyId': 'keyId' },
        values: { ':revoked': 'revoked' },
      });
      return applied;
    },
    replaceKey: async (hash, { replacedBy, expiresAt }) => {
      const { applied } = await table.apply(hash, REPLACE, {
        names: { '#status': 'status', '#replacedBy': 'replacedBy', '#expiresAt': 'expiresAt' },
        values: { ':active': 'active', ':replacedBy': replacedBy, ':expiresAt': expiresAt },
      });
      return applied;
    },
  };
};
