import type { CallerProtocol } from '../protocols/protocol.ts';
import { callerProtocols } from '../protocols/protocols.ts';
import { ROUTES } from '../routes.ts';
import { type ApiError, invalidRequest, notFound } from '../support/errors.ts';
import { createLruCache } from '../support/memo.ts';
import { decodeUri } from '../support/objects.ts';

const PLACEHOLDER = /\{(\w+)\}/g;
const LAST_PLACEHOLDER = /\{(\w+)\}$/;

type Parameters = Record<string, string>;
/** What the last placeholder of a pattern matches: one segment, or all that follows, slashes included. */
type Last = 'segment' | 'rest';

/**
 * Returns the parts of a path that match the `{placeholders}` of a pattern, percent-decoded; undefined when the path
 * has another shape. Each matches one segment, but for the last. The rest of a pattern is plain: letters, digits, `_`,
 * `-` and slashes.
 */
export const compilePattern = (pattern: string, last: Last = 'segment') => {
  const source = (
    last === 'rest' ? pattern.replace(LAST_PLACEHOLDER, '(?<$1>[^]*[^/])') : pattern
  ).replaceAll(PLACEHOLDER, '(?<$1>[^/]+)');
  const shape = new RegExp(`^${source}$`);
  return (path: string): Parameters | undefined => {
    const found = shape.exec(path);
    if (!found) return undefined;
    const parameters: Parameters = {};
    for (const [name, text] of Object.entries(found.groups ?? {})) {
      const value = decodeUri(text);
      if (value === undefined) return undefined;
      parameters[name] = value;
    }
    return parameters;
  };
};

/** Finds the routes that a path belongs to, each with the values of its placeholders. */
export const createPathFinder = <Route extends { pattern: string }>(
  routes: readonly Route[],
  last?: Last,
) => {
  const known = routes.map((route) => ({ route, match: compilePattern(route.pattern, last) }));
  return (path: string): { route: Route; parameters: Parameters }[] =>
    known.flatMap(({ route, match }) => {
      const parameters = match(path);
      return parameters ? [{ route, parameters }] : [];
    });
};

/** 405; `allow` lists the methods of the path. */
export const methodNotAllowed = (allow: string): ApiError =>
  invalidRequest(`Method not allowed. Allowed: ${allow}.`, { status: 405, headers: { allow } });

/** 426, after which clients send their request over HTTP at once; after a 405 they try again for seconds. */
export const noWebSocket = (): ApiError =>
  invalidRequest('WebSockets are not offered; send each request as a POST, with "stream": true.', {
    status: 426,
    headers: { upgrade: 'websocket' },
  });

// --- endpoints that are not offered ---

/** Endpoints of the protocols' vendors that this service lacks and that SDKs and clients call. */
const NOT_OFFERED: Record<string, string> = {
  '/v1/responses/compact':
    'Compaction is not offered; send a shorter conversation to POST /v1/responses.',
  '/v1/completions': 'Text completions are not offered; use POST /v1/chat/completions.',
  '/v1/complete': 'Text completions are not offered; use POST /v1/messages.',
  '/v1/embeddings': 'Embeddings are not offered; call their provider directly.',
  '/v1/moderations': 'Moderations are not offered; call their provider directly.',
  '/v1/images': 'Image generation is not offered; call its provider directly.',
  '/v1/audio': 'Speech and transcription are not offered; call their provider directly.',
  '/v1/files': 'Files are not stored; send their content within the conversation.',
  '/v1/batches': 'Batches are not offered; send each request to POST /v1/chat/completions.',
  '/v1/messages/batches':
    'Message batches are not offered; send each request to POST /v1/messages.',
};

/** The sentence about an endpoint that is not offered, for its path and the paths below it. */
const notOffered = (path: string): string | undefined => {
  const found = Object.keys(NOT_OFFERED).find(
    (root) => path === root || path.startsWith(`${root}/`),
  );
  return found && NOT_OFFERED[found];
};

// --- path -> address ---

export type Address = {
  /** The path of a route, or the path as sent if no route has it. */
  path: string;
  /** The protocol of the path, whether or not a route has it; it shapes every response. */
  protocol: CallerProtocol;
  /** The model in a path of Azure's shape. */
  deployment?: string;
  /** The path's rows of the table of routes, one for each method. */
  routes: FoundRoute[];
};

export type FoundRoute = { route: (typeof ROUTES)[number]; parameters: Record<string, string> };

/** First segments that base addresses of clients have in excess, twice, or not at all. */
const PREFIX = /^(?:\/(?:v1|openai|anthropic|api)(?=\/))+/;

/** Azure's shape: the model is a part of the path, and may have a slash. */
const DEPLOYMENT = /^\/deployments\/(.+)(\/(?:chat\/completions|responses|embeddings))$/;

const findRoutes = createPathFinder(ROUTES, 'rest');

/** One slash between segments and none at the end. */
const withSingleSlashes = (path: string): string => {
  const single = path.replaceAll(/\/{2,}/g, '/');
  return single.length > 1 && single.endsWith('/') ? single.slice(0, -1) : single;
};

type Known = Omit<Address, 'protocol'>;

/** The address of a path in a route's own form, or of an endpoint that is not offered. */
const addressOf = (path: string): Known | undefined => {
  // The id of a response may be any text: a path without one goes before it.
  const found = path in NOT_OFFERED ? [] : findRoutes(path);
  const exact = found.filter(({ route }) => route.pattern === path);
  const routes = exact.length > 0 ? exact : found;
  return routes.length > 0 || notOffered(path) !== undefined ? { path, routes } : undefined;
};

/** The address that `path` is a variant of; undefined if there is none. */
const findAddress = (path: string): Known | undefined => {
  const tidy = withSingleSlashes(path);
  const exact = addressOf(tidy);
  if (exact) return exact;
  const rest = tidy.replace(PREFIX, '');
  const [, name = '', endpoint = rest] = DEPLOYMENT.exec(rest) ?? [];
  const deployment = decodeUri(name);
  const known = deployment === undefined ? undefined : addressOf(`/v1${endpoint}`);
  return known && (deployment ? { ...known, deployment } : known);
};

const PROTOCOLS = ROUTES.flatMap((route) => ('protocol' in route ? [route] : []));

const protocolOf = (path: string): CallerProtocol => {
  const row = PROTOCOLS.find(({ pattern }) => path.startsWith(pattern));
  return callerProtocols[row?.protocol ?? 'chat'];
};

/** Of the last paths: most requests have one of two or three. */
const addresses = createLruCache<Address>(50);

/**
 * Reads a path liberally: a missing or doubled `/v1`, doubled slashes, one at the end, the prefixes of
 * other gateways and Azure's shape mean the route that the client was written for. Other paths are
 * returned unchanged, and get a 404.
 */
export const readAddress = (path: string): Address => {
  const last = addresses.get(path);
  if (last) return last;
  const known = findAddress(path) ?? { path, routes: [] };
  const address = { ...known, protocol: protocolOf(known.path) };
  addresses.set(path, address);
  return address;
};

// --- paths without a route ---

const OFFERED = [...new Set(ROUTES.map(({ pattern }) => pattern))]
  .filter((pattern) => pattern.startsWith('/v1'))
  .join(', ');

/** The error for a path without a route. Does not repeat the path: people paste keys into URLs. */
export const unknownPath = (path: string): ApiError =>
  notFound(notOffered(path) ?? `No such path. This service has ${OFFERED}.`);
