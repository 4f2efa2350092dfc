import type { Plan } from './plan-store.ts';

/** Limits of a key below those of its plan; the plan's apply where one is absent or lower. */
export type KeyLimits = {
  rpm?: number;
  quota?: number;
  concurrency?: number;
  models?: string[];
  /** Words that the labels of a target must have, besides those that the plan requires. */
  require?: Plan['require'];
  /** Budgets of dollars that its requests are under, each as `scope/period`: `project/day`. */
  budgets?: string[];
};

/** A key as stored: its SHA-256, from which the key cannot be recovered. */
export type KeyRecord = KeyLimits & {
  /** SHA-256 of the whole key, hex. */
  hash: string;
  keyId: string;
  projectId: string;
  planId: string;
  /** Id of the key's counters; a rotated key keeps its predecessor's. */
  meterId: string;
  /** Prefix and first characters, for lists. */
  start: string;
  name?: string;
  /** `unreadable`: a later version wrote it. It admits no request, and all that can be done with it is to revoke it. */
  status: 'active' | 'paused' | 'revoked' | 'unreadable';
  /** Milliseconds since the epoch, as all instants here. */
  createdAt: number;
  expiresAt?: number;
  /** Key id of the successor after a rotation. */
  replacedBy?: string;
};

/** The fields that change; null removes one. */
export type KeyChange = { planId?: string; status?: 'active' | 'paused'; name?: string | null } & {
  [Name in keyof KeyLimits]?: KeyLimits[Name] | null;
};

/** Implemented by `createDynamoKeyStore` (stores/dynamo/key-store.ts). @throws StoreUnavailable */
export type KeyStore = {
  findKey(hash: string): Promise<KeyRecord | undefined>;
  /** Writes a new record; false if another key has the hash. */
  createKey(record: KeyRecord): Promise<boolean>;
  /** All keys of a project, revoked ones included, sorted by id. Up to a second behind writes. */
  listKeys(projectId: string): Promise<KeyRecord[]>;
  /** The same, read as they are needed, beginning after a key id. */
  readKeys(projectId: string, after?: string): AsyncGenerator<KeyRecord, void, void>;
  /** One key of a project, or undefined. Up to a second behind writes. */
  findKeyById(projectId: string, keyId: string): Promise<KeyRecord | undefined>;
  /**
   * The record before and after it; undefined, with nothing written, if the key is revoked or does not exist.
   * @throws UnreadableItem
   */
  changeKey(
    hash: string,
    change: KeyChange,
  ): Promise<{ before: KeyRecord; after: KeyRecord } | undefined>;
  /** Irreversible and idempotent; false if the key does not exist. */
  revokeKey(hash: string): Promise<boolean>;
  /** Sets the successor and an earlier expiry; false if the key is not active or expires sooner. */
  replaceKey(hash: string, successor: { replacedBy: string; expiresAt: number }): Promise<boolean>;
};
