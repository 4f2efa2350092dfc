/** Upstream credentials by the name the catalog gives them. */
export type UpstreamSecrets = {
  /** @throws Error when the secret cannot be had; the message never holds a value. */
  get(name: string): Promise<string>;
  /** Forgets what is cached: an upstream has refused the credential, so it may have been rotated. */
  refresh(): void;
};
