import { exactOptional, list, number, object, oneOf, parse, string } from '../../support/schema.ts';
import { KEYS_BY_PROJECT, PARTITION_KEY } from '../../tables.ts';
import type { KeyChange, KeyRecord, KeyStore } from '../key-store.ts';
import type { RouterStores } from '../router-stores.ts';
import { createTable, type Item, type TableOptions } from './table.ts';

const StoredKey = object({
  [PARTITION_KEY]: string,
  keyId: string,
  projectId: string,
  planId: string,
  meterId: string,
  start: string,
  name: exactOptional(string),
  status: oneOf(['active', 'paused', 'revoked']),
  createdAt: number,
  expiresAt: exactOptional(number),
  replacedBy: exactOptional(string),
  rpm: exactOptional(number),
  quota: exactOptional(number),
  concurrency: exactOptional(number),
  models: exactOptional(list(string)),
});

/** Keys of one read of a list. */
const PAGE = 500;

const readKey = (item: Item): KeyRecord => {
  const { [PARTITION_KEY]: hash, ...record } = parse(StoredKey, item, 'A key');
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

const CHANGEABLE = '#status IN (:active, :paused)';

/** Sets the fields of a change, and removes those that are null. */
const changeWrite = (change: KeyChange) => {
  const fields = Object.entries(change).filter(([, value]) => value !== undefined);
  const sets = fields.filter(([, value]) => value !== null);
  const removes = fields.filter(([, value]) => value === null);
  const update = [
    ...(sets.length > 0 ? [`SET ${sets.map(([name]) => `#${name} = :${name}`).join(', ')}`] : []),
    ...(removes.length > 0 ? [`REMOVE ${removes.map(([name]) => `#${name}`).join(', ')}`] : []),
  ].join(' ');
  const names = Object.fromEntries(fields.map(([name]) => [`#${name}`, name]));
  const values = Object.fromEntries(sets.map(([name, value]) => [`:${name}`, value]));
  return {
    write: { update, condition: CHANGEABLE },
    bindings: {
      names: { ...names, '#status': 'status' },
      values: { ...values, ':active': 'active', ':paused': 'paused' },
    },
  };
};

/** What the router reads of the keys table. */
export const createDynamoKeyReader = (options: TableOptions): RouterStores['keys'] => {
  const table = createTable(options);
  return {
    findKey: async (hash) => {
      const item = await table.read(hash);
      return item && readKey(item);
    },
    listKeys: async (projectId) => {
      const { indexName, partitionKey } = KEYS_BY_PROJECT;
      return (await table.query({ indexName, partitionKey, value: projectId })).map(readKey);
    },
  };
};

/** `KeyStore` on the keys table: one item per key, by its hash. */
export const createDynamoKeyStore = (options: TableOptions): KeyStore => {
  const table = createTable(options);
  return {
    ...createDynamoKeyReader(options),
    createKey: async ({ hash, ...record }) => {
      const fields = Object.entries(record).filter(([, value]) => value !== undefined);
      const { write, bindings } = createWrite(fields);
      const { applied } = await table.apply(hash, write, bindings);
      if (applied) return true;
      // The SDK may have repeated a write whose response was lost: then this record is the stored one.
      return (await table.read(hash))?.keyId === record.keyId;
    },
    readKeys: async function* (projectId, after) {
      const { indexName, partitionKey, sortKey } = KEYS_BY_PROJECT;
      const index = { indexName, partitionKey, value: projectId };
      const sort =
        after === undefined ? {} : { sort: { key: sortKey, is: '>', value: after } as const };
      for await (const items of table.pages({ ...index, ...sort, limit: PAGE })) {
        yield* items.map(readKey);
      }
    },
    findKeyById: async (projectId, keyId) => {
      const { indexName, partitionKey, sortKey } = KEYS_BY_PROJECT;
      const sort = { key: sortKey, is: '=', value: keyId } as const;
      const [item] = await table.query({ indexName, partitionKey, value: projectId, sort });
      return item && readKey(item);
    },
    changeKey: async (hash, change) => {
      const before = await table.read(hash);
      if (!before) return undefined;
      const { write, bindings } = changeWrite(change);
      const { applied, item } = await table.apply(hash, write, bindings);
      return applied && item ? { before: readKey(before), after: readKey(item) } : undefined;
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
