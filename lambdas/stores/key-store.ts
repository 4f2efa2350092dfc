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

export type KeyStore = {
  /** The record behind a key's hash, or undefined. Throws only when the store is unreachable. */
  findKey(hash: string): Promise<KeyRecord | undefined>;
  /** Writes a new record; false if the hash is taken. */
  createKey(record: KeyRecord): Promise<boolean>;
};
