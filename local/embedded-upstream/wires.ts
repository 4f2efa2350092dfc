import type { IncomingHttpHeaders } from 'node:http';
import type { CallerProtocol } from '../../lambdas/protocols/protocol.ts';
import { callerProtocols } from '../../lambdas/protocols/protocols.ts';
import { gemini } from './gemini.ts';

/** What a provider's side of a protocol does. */
type EmbeddedProtocol = Pick<
  CallerProtocol,
  'decodeRequest' | 'encodeResponse' | 'streamEncoder' | 'encodeError' | 'encodeStreamError'
> & { name: string };

/** Behaviour of a protocol's providers beyond the protocol: addresses, credentials, conventions. */
export type Wire = {
  protocol: EmbeddedProtocol;
  /** Path of the base address in a catalog. */
  basePath: string;
  /** Path of generation below the base address; its groups are members of the request. */
  path: RegExp;
  callIdPrefix: string;
  /** Whether thinking blocks are signed. */
  signsThinking: boolean;
  /** Reads a call's credential from the header that this provider uses. */
  credential(headers: IncomingHttpHeaders): string | undefined;
};

/**
 * The protocols that the embedded upstream speaks, those of callers by the router's codecs. Not derived from the codecs, so that a codec that sends no credential fails.
 */
const WIRES: Record<string, Wire> = {
  chat: {
    protocol: callerProtocols.chat,
    basePath: '/v1',
    path: /^\/chat\/completions$/,
    callIdPrefix: 'call_',
    signsThinking: false,
    credential: ({ authorization }) => /^Bearer (.+)$/.exec(authorization ?? '')?.[1],
  },
  messages: {
    protocol: callerProtocols.messages,
    basePath: '',
    path: /^\/v1\/messages$/,
    callIdPrefix: 'toolu_',
    signsThinking: true,
    credential: (headers) =>
      headers['anthropic-version'] === undefined ? undefined : headers['x-api-key']?.toString(),
  },
  responses: {
    protocol: callerProtocols.responses,
    basePath: '/openai/v1',
    path: /^\/responses$/,
    callIdPrefix: 'call_',
    signsThinking: true,
    credential: ({ authorization }) => /^Bearer (.+)$/.exec(authorization ?? '')?.[1],
  },
  gemini: {
    protocol: gemini,
    basePath: '/v1beta',
    path: /^\/models\/(?<model>[^/:]+):(?:generateContent|(?<stream>streamGenerateContent\?alt=sse))$/,
    callIdPrefix: 'fc_',
    signsThinking: true,
    credential: (headers) => headers['x-goog-api-key']?.toString(),
  },
};

/** @throws Error if the embedded upstream does not speak `protocol`. */
export const basePathOf = (protocol: string): string => {
  const wire = WIRES[protocol];
  if (!wire) throw new Error(`the embedded upstream does not speak '${protocol}'`);
  return wire.basePath;
};

/** The members of a request that are in its path; undefined for the path of another protocol. */
export const membersIn = (
  { basePath, path }: Wire,
  url: string,
): Record<string, unknown> | undefined => {
  const found = url.startsWith(basePath) ? path.exec(url.slice(basePath.length)) : null;
  if (!found) return undefined;
  const { model, stream } = found.groups ?? {};
  return model === undefined
    ? {}
    : { model: decodeURIComponent(model), stream: stream !== undefined };
};

export const wireOf = (method: string | undefined, path: string): Wire | undefined =>
  Object.values(WIRES).find((wire) => method === 'POST' && membersIn(wire, path) !== undefined);
