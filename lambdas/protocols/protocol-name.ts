/** Protocols that callers use; the path of a request decides which. */
export const CALLER_PROTOCOLS = ['chat', 'messages', 'responses'] as const;
export type CallerProtocolName = (typeof CALLER_PROTOCOLS)[number];

/** Protocols that targets use; `protocol` of a target in the catalog is one of them. */
export const UPSTREAM_PROTOCOLS = ['chat', 'messages', 'responses', 'gemini'] as const;
export type UpstreamProtocolName = (typeof UPSTREAM_PROTOCOLS)[number];

/** A protocol of either side, as `extras` and native parts name their origin. */
export type ProtocolName = CallerProtocolName | UpstreamProtocolName;

const ALL: readonly ProtocolName[] = [...CALLER_PROTOCOLS, ...UPSTREAM_PROTOCOLS];

export const isProtocolName = (value: unknown): value is ProtocolName =>
  ALL.some((name) => name === value);
