import { chat } from './chat/index.ts';
import { messages } from './messages/index.ts';
import type { Protocol, ProtocolName } from './protocol.ts';

/** Every protocol by its name in the catalog. */
export const protocols: Record<ProtocolName, Protocol> = { chat, messages };
