import type { UpstreamSecrets } from '../../lambdas/upstreams/secrets.ts';

/** Every credential is `value`, and stays it. */
export const fixedSecrets = (value: string): UpstreamSecrets => ({
  get: async () => ({ value, version: 'v1' }),
  refused: async () => undefined,
  accepted: () => undefined,
  version: () => 'v1',
});
