const NAMES = ['chat', 'messages'] as const;

/** Names of the wire protocols; a target in the catalog speaks one of them. */
export type ProtocolName = (typeof NAMES)[number];

export const isProtocolName = (value: unknown): value is ProtocolName =>
  NAMES.some((name) => name === value);
