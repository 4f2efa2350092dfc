/** Names of the wire protocols; a target in the catalog speaks one of them. */
export const PROTOCOL_NAMES = ['chat', 'messages'] as const;
export type ProtocolName = (typeof PROTOCOL_NAMES)[number];

export const isProtocolName = (value: unknown): value is ProtocolName =>
  PROTOCOL_NAMES.some((name) => name === value);
