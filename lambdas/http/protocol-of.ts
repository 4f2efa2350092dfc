import type { Protocol } from '../protocols/protocol.ts';
import { protocols } from '../protocols/protocols.ts';

/** The protocol family of a path, whether or not the path exists; it decides the shape of errors. */
export const protocolOf = (path: string): Protocol =>
  path.startsWith('/v1/messages') ? protocols.messages : protocols.chat;
