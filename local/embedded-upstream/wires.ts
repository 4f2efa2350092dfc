import type { IncomingHttpHeaders } from 'node:http';
import type { CallerProtocol } from '../../lambdas/protocols/protocol.ts';
import { callerProtocols } from '../../lambdas/protocols/protocols.ts';

/** Behaviour of a protocol's providers beyond the protocol: addresses, credentials, conventions. */
export type Wire = {
  protocol: CallerProtocol;
  /** Path of the base address in a catalog. */
  basePath: string;
  /** Path of generation below the base address. */
  path: string;
  callIdPrefix: string;
  /** Whether thinking blocks are signed. */
  signsThinking: boolean;
  /** Reads a call's credential from the header that this provider uses. */
  credential(headers: IncomingHttpHeaders): string | undefined;
};

/**
 * The protocols that the embedded upstream speaks. Each needs a codec for both directions, which only
 * callers' protocols have. Not derived from the codecs, so that a codec that sends no credential fails.
 */
const WIRES: Record<string, Wire> = {
  chat: {
    protocol: callerProtocols.chat,
    basePath: '/v1',
    path: '/chat/completions',
    callIdPrefix: 'call_',
    signsThinking: false,
    credential: ({ authorization }) => /^Bearer (.+)$/.exec(authorization ?? '')?.[1],
  },
  messages: {
    protocol: callerProtocols.messages,
    basePath: '',
    path: '/v1/messages',
    callIdPrefix: 'toolu_',
    signsThinking: true,
    credential: (headers) =>
      headers['anthropic-version'] === undefined ? undefined : headers['x-api-key']?.toString(),
  },
  responses: {
    protocol: callerProtocols.responses,
    basePath: '/openai/v1',
    path: '/responses',
    callIdPrefix: 'call_',
    signsThinking: true,
    credential: ({ authorization }) => /^Bearer (.+)$/.exec(authorization ?? '')?.[1],
  },
};

/** @throws Error if the embedded upstream does not speak `protocol`. */
export const basePathOf = (protocol: string): string => {
  const wire = WIRES[protocol];
  if (!wire) throw new Error(`the embedded upstream does not speak '${protocol}'`);
  return wire.basePath;
};

export const wireOf = (method: string | undefined, path: string): Wire | undefined =>
  Object.values(WIRES).find((wire) => method === 'POST' && path === wire.basePath + wire.path);
