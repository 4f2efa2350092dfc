import type { CallerProtocol } from '../protocols/protocol.ts';
import { callerProtocols } from '../protocols/protocols.ts';

/** The protocol family of a path, whether or not the path exists; it decides the shape of errors. */
export const protocolOf = (path: string): CallerProtocol =>
  path.startsWith('/v1/messages') ? callerProtocols.messages : callerProtocols.chat;
