import type { UpstreamProtocolName } from '../../lambdas/protocols/protocol-name.ts';

/**
 * The upstream protocols that the laws and grids of all pairs are held on: those with a strict vendor, generators and
 * fixtures. A protocol joins when it has them; the compiler names each table that lacks a row.
 */
export const WIRES = [
  'chat',
  'messages',
  'responses',
  'gemini',
] as const satisfies readonly UpstreamProtocolName[];
export type Wire = (typeof WIRES)[number];
