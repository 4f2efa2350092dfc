import type { Endpoint, Reply } from '../endpoints/endpoint.ts';
import type { CallerProtocol } from '../protocols/protocol.ts';
import { callerProtocols } from '../protocols/protocols.ts';
import { type EndpointName, ROUTES } from '../routes.ts';
import { notFound } from '../support/errors.ts';
import { createPathFinder, methodNotAllowed } from './path-pattern.ts';
import type { HttpRequest } from './read-event.ts';

/** Each endpoint that the table of routes (routes.ts) names. */
export type Endpoints = Record<EndpointName, Endpoint>;

export type RouteMatch = {
  pattern: string;
  serve:
    | { endpoint: Endpoint; pathParameter: string | undefined; dateHeader: string | undefined }
    | { reply: Reply };
};

export type MatchRoute = (request: Pick<HttpRequest, 'method' | 'path'>) => RouteMatch;

type Row = (typeof ROUTES)[number];

/** Paths of newer or older APIs of the protocols' vendors, which SDKs call by default. */
const UNSUPPORTED_PATHS: Record<string, string> = {
  '/v1/responses':
    'The Responses API is not offered; use POST /v1/chat/completions (in SDKs: the chat completions API).',
  '/v1/completions': 'Text completions are not offered; use POST /v1/chat/completions.',
  '/v1/complete': 'Text completions are not offered; use POST /v1/messages.',
};

const BASE_URLS =
  "Chat-completions SDKs take the base address with '/v1', messages SDKs without it.";

const PATTERNS: string[] = ROUTES.map(({ pattern }) => pattern);

/** Message of a 404. Does not repeat the path: people paste keys into URLs. */
const hintFor = (path: string): string => {
  const unsupported = UNSUPPORTED_PATHS[path];
  if (unsupported) return unsupported;
  if (path.startsWith('/v1/v1/')) return `The path has '/v1' twice. ${BASE_URLS}`;
  if (PATTERNS.includes(`/v1${path}`)) return `The path lacks '/v1'. ${BASE_URLS}`;
  if (path.includes('//'))
    return 'No such path. It has two slashes in a row: the base address ends without one.';
  if (path.length > 1 && path.endsWith('/')) return 'No such path. Paths have no trailing slash.';
  return `No such path. This service has ${PATTERNS.filter((p) => p.startsWith('/v1')).join(', ')}.`;
};

const allowedBy = (rows: Row[]): string => {
  const methods = rows.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  return [...methods, 'OPTIONS'].join(', ');
};

/** Lists the methods; a preflight of an allowed origin gets CORS headers as well (cors.ts). */
const optionsReply = (allow: string): Reply => ({ status: 204, headers: { allow }, body: {} });

/** Finds the route of a request. @throws ApiError 404 with a hint, or 405 with `allow` */
export const createMatchRoute = (endpoints: Endpoints): MatchRoute => {
  const findByPath = createPathFinder<Row>(ROUTES, 'rest');

  const serveRow = (row: Row, pathParameter: string | undefined): RouteMatch['serve'] => {
    if (!('endpoint' in row)) return { reply: { status: 200, body: row.body } };
    const dateHeader = 'dateHeader' in row ? row.dateHeader : undefined;
    return { endpoint: endpoints[row.endpoint], pathParameter, dateHeader };
  };

  return ({ method, path }) => {
    const candidates = findByPath(path);
    const [first] = candidates;
    if (!first) throw notFound(hintFor(path));

    const routeMethod = method === 'HEAD' ? 'GET' : method;
    const match = candidates.find(({ route }) => route.method === routeMethod);
    const { pattern } = (match ?? first).route;
    if (match) return { pattern, serve: serveRow(match.route, match.parameters.id) };
    const allow = allowedBy(candidates.map(({ route }) => route));
    if (method === 'OPTIONS') return { pattern, serve: { reply: optionsReply(allow) } };
    throw methodNotAllowed(allow);
  };
};

/** The protocol of a path, whether or not the path exists; it decides the shape of errors. */
export const protocolOf = (path: string): CallerProtocol =>
  path.startsWith('/v1/messages') ? callerProtocols.messages : callerProtocols.chat;
