/**
 * Upstream credentials by their name in the catalog. Implemented by createSecretsManagerSecrets
 * (secrets-manager.ts).
 */
export type UpstreamSecrets = {
  /** @throws Error if the secret is unavailable; its message never contains a value. */
  get(name: string): Promise<string>;
  /** Expires the cache: an upstream rejected the credential, so it may have been rotated. */
  refresh(): void;
};
