import type { IncomingHttpHeaders } from 'node:http';
import { chat } from '../../lambdas/protocols/chat/index.ts';
import { messages } from '../../lambdas/protocols/messages/index.ts';
import type { Protocol, ProtocolName } from '../../lambdas/protocols/protocol.ts';

/** Behaviour of a protocol's providers beyond the protocol: addresses, credentials, conventions. */
export type Wire = {
  protocol: Protocol;
  /** Path of the base address in a catalog. */
  basePath: string;
  callIdPrefix: string;
  /** Whether thinking blocks are signed. */
  signsThinking: boolean;
  /** Reads a call's credential from the header that this provider uses. */
  credential(headers: IncomingHttpHeaders): string | undefined;
};

/** Not derived from the codecs, so that a codec that sends no credential fails. */
export const WIRES: Record<ProtocolName, Wire> = {
  chat: {
    protocol: chat,
    basePath: '/v1',
    callIdPrefix: 'call_',
    signsThinking: false,
    credential: ({ authorization }) => /^Bearer (.+)$/.exec(authorization ?? '')?.[1],
  },
  messages: {
    protocol: messages,
    basePath: '',
    callIdPrefix: 'toolu_',
    signsThinking: true,
    credential: (headers) =>
      headers['anthropic-version'] === undefined ? undefined : headers['x-api-key']?.toString(),
  },
};

export const wireOf = (method: string | undefined, path: string): Wire | undefined =>
  Object.values(WIRES).find(
    ({ basePath, protocol }) => method === 'POST' && path === basePath + protocol.upstreamPath,
  );
