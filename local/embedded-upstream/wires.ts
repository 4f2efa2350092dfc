import type { IncomingHttpHeaders } from 'node:http';
import { chat } from '../../lambdas/protocols/chat/index.ts';
import { messages } from '../../lambdas/protocols/messages/index.ts';
import type { Protocol, ProtocolName } from '../../lambdas/protocols/protocol.ts';

/** What a provider of a protocol does beyond the protocol: addresses, credentials, habits. */
export type Wire = {
  protocol: Protocol;
  /** Path of the base address that a catalog names. */
  basePath: string;
  callIdPrefix: string;
  /** Whether thinking comes with a signature. */
  signsThinking: boolean;
  /** The credential of a call, read from where this provider wants it. */
  credential(headers: IncomingHttpHeaders): string | undefined;
};

/** Written out rather than taken from the codecs: a codec that sends no credential must be noticed. */
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
