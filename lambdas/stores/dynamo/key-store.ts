import { listOf } from '../../support/async-lists.ts';
import { isEmpty, omitUndefined } from '../../support/objects.ts';
import * as s from '../../support/schema.ts';
import { KEYS_BY_PROJECT, PARTITION_KEY } from '../../tables.ts';
import type { KeyChange, KeyRecord, KeyStore } from '../key-store.ts';
import type { RouterStores } from '../router-stores.ts';
import { StoreUnavailable, UnreadableItem } from '../store-unavailable.ts';
import type { Write } from './item-write.ts';
import { isUnderstood } from './needs.ts';
import { StoredPolicy } from './plan-store.ts';
import { createTable, type Item, type TableOptions } from './table.ts';

const Limits = s.object({
  rpm: s.exactOptional(s.number),
  quota: s.exactOptional(s.number),
  concurrency: s.exactOptional(s.number),
  models: s.exactOptional(s.list(s.string)),
  require: s.exactOptional(StoredPolicy),
  budgets: s.exactOptional(s.list(s.string)),
});
const Restrictions = s.object({ ...Limits.shape, paused: s.exactOptional(s.boolean) });

const StoredKey = s.object({
  [PARTITION_KEY]: s.string,
  keyId: s.string,
  projectId: s.string,
  planId: s.string,
  meterId: s.string,
  start: s.string,
  name: s.exactOptional(s.string),
  status: s.oneOf(['active', 'paused', 'revoked']),
  createdAt: s.number,
  expiresAt: s.exactOptional(s.number),
  replacedBy: s.exactOptional(s.string),
  // A later version may write them as attributes: with `needs`, because 0.1.0 does not know them.
  ...Limits.shape,
});

/** Keys of one read of a list. */
const PAGE = 500;
/** Attempts of a change while others change the same key; then StoreUnavailable. */
const MAX_TRIES = 8;

/** No plan's id has one. */
const SEPARATOR = ' ';

/**
 * Version 0.1.0 knows no restriction of a key, and would admit all its requests. Restrictions are stored behind the id of
 * the plan, as JSON: there is no such plan, so 0.1.0 returns 503 for this key and lists it, and its rotation keeps them.
 */
const storedPlan = ({ planId, status, ...record }: Omit<KeyRecord, 'hash'>): string => {
  const { rpm, quota, concurrency, models, require, budgets } = record;
  const paused = status === 'paused' || undefined;
  const restrictions = omitUndefined({ rpm, quota, concurrency, models, require, budgets, paused });
  return isEmpty(restrictions) ? planId : planId + SEPARATOR + JSON.stringify(restrictions);
};

/** In the JSON of a key that is paused. */
const PAUSED = '"paused":true';

/** Undefined if it is not valid, or has others than these. */
const restrictionsIn = (text: string): ReturnType<typeof Restrictions> | undefined => {
  try {
    const given: unknown = JSON.parse(text);
    const read = s.readIfValid(Restrictions, given);
    return read && Object.keys(Object(given)).every((name) => name in Restrictions.shape)
      ? read
      : undefined;
  } catch {
    return undefined;
  }
};

/** Undefined if it is not valid. */
const readStored = (item: Item): KeyRecord | undefined => {
  const stored = isUnderstood(item) ? s.readIfValid(StoredKey, item) : undefined;
  if (!stored) return undefined;
  const { [PARTITION_KEY]: hash, ...record } = stored;
  const [planId = '', ...rest] = record.planId.split(SEPARATOR);
  if (rest.length === 0) return { hash, ...record };
  const restrictions = restrictionsIn(rest.join(SEPARATOR));
  if (!restrictions) return undefined;
  const { paused, ...limits } = restrictions;
  const status = paused && record.status === 'active' ? 'paused' : record.status;
  return { hash, ...record, ...limits, planId, status };
};

const textIn = (item: Item, name: string): string => String(item[name] ?? '');

/** What operators see of a key that cannot be used: enough to revoke it. */
const unreadableKey = (item: Item): KeyRecord => ({
  hash: textIn(item, PARTITION_KEY),
  keyId: textIn(item, 'keyId'),
  projectId: textIn(item, 'projectId'),
  planId: textIn(item, 'planId').split(SEPARATOR)[0] ?? '',
  meterId: textIn(item, 'meterId'),
  start: textIn(item, 'start'),
  status: item.status === 'revoked' ? 'revoked' : 'unreadable',
  createdAt: Number(item.createdAt) || 0,
});

const readKey = (item: Item): KeyRecord => readStored(item) ?? unreadableKey(item);

/** The record with the fields of a change; null removes one. */
const changedRecord = (record: KeyRecord, change: KeyChange): KeyRecord => {
  const changed = Object.entries({ ...record, ...omitUndefined(change) });
  return Object.fromEntries(changed.filter(([, value]) => value !== null)) as KeyRecord;
};

/** Fails if another write has replaced the plan or the restrictions since they were read. */
const changeWrite = (seen: unknown, changed: KeyRecord, { name }: KeyChange): Write => ({
  set: { planId: storedPlan(changed), status: 'active', name: name ?? undefined },
  remove: ['rpm', 'quota', 'concurrency', 'models', ...(name === null ? ['name'] : [])],
  conditions: [
    { anyOf: [[['status', '=', 'active']], [['status', '=', 'paused']]] },
    ['planId', '=', seen],
  ],
});

const keysOf = (projectId: string) => ({ index: KEYS_BY_PROJECT, partition: projectId });

export const createDynamoKeyReader = (options: TableOptions): RouterStores['keys'] => {
  const table = createTable(options);
  return {
    findKey: async (hash) => {
      const item = await table.read(hash);
      return item && readKey(item);
    },
    listKeys: async (projectId) => {
      const pages = await listOf(table.range(keysOf(projectId)));
      return pages.flat().map(readKey);
    },
  };
};

/** `KeyStore` on the keys table: one item per key, by its hash. */
export const createDynamoKeyStore = (options: TableOptions): KeyStore => {
  const table = createTable(options);
  return {
    ...createDynamoKeyReader(options),
    createKey: async ({ hash, ...record }) => {
      const status = record.status === 'paused' ? 'active' : record.status;
      // They are stored behind the id of the plan.
      const noLimits = Object.keys(Limits.shape).map((name) => [name, undefined]);
      const isCreated = await table.applies(hash, {
        set: { ...record, ...Object.fromEntries(noLimits), status, planId: storedPlan(record) },
        conditions: [['keyId', 'is absent']],
      });
      if (isCreated) return true;
      // The SDK may have repeated a write whose response was lost: then this record is the stored one.
      return (await table.read(hash))?.keyId === record.keyId;
    },
    readKeys: async function* (projectId, after) {
      // The next text in order.
      const from = after && `${after}\0`;
      for await (const items of table.range({ ...keysOf(projectId), from, limit: PAGE })) {
        yield* items.map(readKey);
      }
    },
    findKeyById: async (projectId, keyId) => {
      const range = { ...keysOf(projectId), from: keyId, to: keyId };
      const [item] = (await listOf(table.range(range))).flat();
      return item && readKey(item);
    },
    changeKey: async (hash, change) => {
      for (let tries = 0; tries < MAX_TRIES; tries += 1) {
        const stored = await table.read(hash);
        if (!stored) return undefined;
        const before = readKey(stored);
        if (before.status === 'revoked') return undefined;
        if (before.status === 'unreadable') throw new UnreadableItem('key');
        const write = changeWrite(stored.planId, changedRecord(before, change), change);
        const { applied, item } = await table.apply(hash, write);
        if (applied && item) return { before, after: readKey(item) };
      }
      throw new StoreUnavailable('The key changed faster than it could be read.');
    },
    revokeKey: async (hash) =>
      table.applies(hash, {
        set: { status: 'revoked' },
        conditions: [['keyId', 'is present']],
      }),
    replaceKey: async (hash, { replacedBy, expiresAt }) =>
      table.applies(hash, {
        set: { replacedBy, expiresAt },
        conditions: [
          ['status', '=', 'active'],
          ['planId', 'lacks', PAUSED],
          ['expiresAt', '>= or absent', expiresAt],
        ],
      }),
  };
};
