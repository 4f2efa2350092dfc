/** A key as stored: its SHA-256, from which the key cannot be recovered. */
export type KeyRecord = {
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
  status: 'active' | 'revoked';
  /** Milliseconds since the epoch, as all instants here. */
  createdAt: number;
  expiresAt?: number;
  /** Key id of the successor after a rotation. */
  replacedBy?: string;
};

/** Implemented by `createDynamoKeyStore` (stores/dynamo/key-store.ts). @throws StoreUnavailable */
export type KeyStore = {
  /** The record with this hash, or undefined. */
  findKey(hash: string): Promise<KeyRecord | undefined>;
  /** Writes a new record; false if another key has the hash. */
  createKey(record: KeyRecord): Promise<boolean>;
  /** All keys of a project, revoked ones included, sorted by id. Up to a second behind writes. */
  listKeys(projectId: string): Promise<KeyRecord[]>;
  /** Irreversible and idempotent; false if the key does not exist. */
  revokeKey(hash: string): Promise<boolean>;
  /** Sets the successor and an earlier expiry; false if the key is not active or expires sooner. */
  replaceKey(hash: string, successor: { replacedBy: string; expiresAt: number }): Promise<boolean>;
};
