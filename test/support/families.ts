import type { CallerProtocolName, UpstreamProtocolName } from '../../lambdas/protocols/protocol.ts';

/** The protocols of both sides that tests compare with each other, side by side. */
export const FAMILIES = ['chat', 'messages'] as const;
export type Family = (typeof FAMILIES)[number];

/** The protocols of both sides. */
export const SHARED = ['chat', 'messages', 'responses'] as const satisfies (CallerProtocolName &
  UpstreamProtocolName)[];
