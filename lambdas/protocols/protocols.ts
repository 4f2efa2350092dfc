import { gemini } from '#late/gemini';
import { responses } from '#late/responses';
import { chat } from './chat/index.ts';
import { messages } from './messages/index.ts';
import type {
  CallerProtocol,
  CallerProtocolName,
  UpstreamProtocol,
  UpstreamProtocolName,
} from './protocol.ts';

export const callerProtocols = { chat, messages, responses } satisfies Record<
  CallerProtocolName,
  CallerProtocol
>;

/** The targets' protocols by their name in the catalog. */
export const upstreamProtocols: Record<UpstreamProtocolName, UpstreamProtocol> = {
  chat,
  messages,
  responses,
  gemini,
};
