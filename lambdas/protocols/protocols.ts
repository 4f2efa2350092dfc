import { chat } from './chat/index.ts';
import { messages } from './messages/index.ts';
import type {
  CallerProtocol,
  CallerProtocolName,
  UpstreamProtocol,
  UpstreamProtocolName,
} from './protocol.ts';

/** The callers' protocols by name. */
export const callerProtocols: Record<CallerProtocolName, CallerProtocol> = { chat, messages };

/** The targets' protocols by their name in the catalog. */
export const upstreamProtocols: Record<UpstreamProtocolName, UpstreamProtocol> = { chat, messages };
