import type { UpstreamSecrets } from '../../lambdas/upstreams/secrets.ts';

/** Every credential is `value`, and stays it. */
export const fixedSecrets = (value: string): UpstreamSecrets => ({
  prefetch: () => undefined,
  get: async () => ({ value, version: 'v1' }),
  refused: async () => undefined,
  accepted: () => undefined,
  version: () => 'v1',
});
