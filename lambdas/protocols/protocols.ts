import { chat } from './chat/index.ts';
import { gemini } from './gemini/index.ts';
import { messages } from './messages/index.ts';
import type {
  CallerProtocol,
  CallerProtocolName,
  UpstreamProtocol,
  UpstreamProtocolName,
} from './protocol.ts';
import { responses } from './responses/index.ts';

/** The callers' protocols by name. */
export const callerProtocols = {
  chat,
  messages,
  responses,
} satisfies Record<CallerProtocolName, CallerProtocol>;

/** The targets' protocols by their name in the catalog. */
export const upstreamProtocols: Record<UpstreamProtocolName, UpstreamProtocol> = {
  chat,
  messages,
  responses,
  gemini,
};
