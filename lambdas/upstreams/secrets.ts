export type Credential = { value: string; version: string };

/**
 * Upstream credentials by their name in the catalog. Implemented by createSecretsManagerSecrets
 * (secrets-manager.ts).
 */
export type UpstreamSecrets = {
  /** Starts to read the secret if that is due, concurrently with what comes before the first `get`. */
  prefetch(): void;
  /**
   * Returns a known credential at once, even while a newer one is read; else reads the secret, until
   * `signal` aborts. @throws Error if there is none; its message never contains a value.
   */
  get(name: string, signal: AbortSignal): Promise<Credential>;
  /**
   * Call when an upstream rejected the credential. Reads the secret again unless that was done just before,
   * and looks for a new version from now on; returns the credential of another version, if there is one.
   */
  refused(name: string, version: string, signal: AbortSignal): Promise<Credential | undefined>;
  /** Call when an upstream accepted the credential: ends the search that `refused` began. */
  accepted(name: string): void;
  /** Returns the known version; a newer one is read behind the caller where that is due. */
  version(name: string): string | undefined;
};
