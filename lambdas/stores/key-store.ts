/** A key as stored: by its SHA-256, never in a form from which it could be rebuilt. */
export type KeyRecord = {
  /** SHA-256 of the whole key, hex. */
  hash: string;
  keyId: string;
  projectId: string;
  planId: string;
  /** Counters live under this id; a rotated key keeps its predecessor's. */
  meterId: string;
  /** Prefix and first characters, for lists. */
  start: string;
  name?: string;
  status: 'active' | 'revoked';
  /** Milliseconds since the epoch, as are all instants here. */
  createdAt: number;
  expiresAt?: number;
  /** Key id of the successor after a rotation. */
  replacedBy?: string;
};

/** Verbs throw `StoreUnavailable` when the store does not answer, and nothing else. */
export type KeyStore = {
  /** The record behind a key's hash, or undefined. */
  findKey(hash: string): Promise<KeyRecord | undefined>;
  /** Writes a new record; false if the hash is taken by another key. */
  createKey(record: KeyRecord): Promise<boolean>;
  /** All keys of a project, revoked ones included, in the order of their ids. Lags writes by up to a second. */
  listKeys(projectId: string): Promise<KeyRecord[]>;
  /** Irreversible. Safe to repeat; false if there is no such key. */
  revokeKey(hash: string): Promise<boolean>;
  /** Names a successor and shortens the key's life, never lengthens it; false unless the key is active. */
  replaceKey(hash: string, successor: { replacedBy: string; expiresAt: number }): Promise<boolean>;
};
