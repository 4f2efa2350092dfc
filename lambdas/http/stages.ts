import type middy from '@middy/core';
import type { Context } from 'aws-lambda';
import type { Call, Endpoint, Reply } from '../endpoints/endpoint.ts';
import { type Authenticate, confirmedCaller, type Identity } from '../keys/authenticate.ts';
import type { RequestFields } from '../log-events.ts';
import { asRecord, type JsonSource } from '../protocols/bytes/json.ts';
import type { EndpointName } from '../routes.ts';
import { invalidRequest } from '../support/errors.ts';
import type { BodyCache } from './body-cache.ts';
import {
  type Address,
  type FoundRoute,
  methodNotAllowed,
  noWebSocket,
  unknownPath,
} from './read-address.ts';
import { readBody } from './read-body.ts';
import type { HttpRequest } from './read-event.ts';

/** Lambda's context. `signal` is absent on Lambda, which does not report a disconnected client. */
export type InvocationContext = {
  awsRequestId?: string;
  getRemainingTimeInMillis?: () => number;
  signal?: AbortSignal;
};

export type Texts = AsyncGenerator<string, void, void>;

/** What the platform sends: headers first, then a text, or the pieces of a stream. */
export type PlatformResponse = {
  statusCode: number;
  headers: Record<string, string>;
  body: string | Texts;
  /** Work that continues behind the response. */
  after?: Promise<void>;
};

/*
 * The stages of a request. Each function below takes the stage before its own, so that the order
 * received, routed, authenticated, called is checked by the compiler (stages.test.ts).
 */

/** What an endpoint gets of a request before its caller is known. */
type Begun = Pick<Call, 'requestId' | 'awsRequestId' | 'startedAt' | 'protocol'> &
  Pick<Call, 'signal' | 'remainingMs'>;

/** A request with its id; the event of every middleware but the outermost. */
export type Received = Readonly<Begun> & {
  readonly request: HttpRequest;
  /** The model that the path names, percent-decoded. */
  readonly deployment: string | undefined;
  /** What the table of routes has for the path; empty in the admin API, which has a separate table. */
  readonly routes: Address['routes'];
  /** Fields of the access log line, filled in stage by stage. */
  readonly notes: Partial<RequestFields>;
  /** Cancel what is written only of a request that takes longer. */
  readonly timers: (() => void)[];
};

/** A middy middleware inside the outermost two. */
export type Middleware = middy.MiddlewareObj<Received, Reply, Error, Context>;

/** A request whose route needs a key. */
export type Routed = Received & {
  readonly endpoint: Endpoint;
  /** Percent-decoded value of `{id}`. */
  readonly pathParameter: string | undefined;
  readonly dateHeader: string | undefined;
  /** The body is ignored. */
  readonly isBodyless: boolean;
  /** A generation can be taken back if its caller turns out to have changed; other endpoints wait for the reads. */
  readonly isGeneration: boolean;
};

export type Authenticated = Routed & Readonly<Identity>;

/** Each endpoint that the table of routes (routes.ts) names. */
export type Endpoints = Record<EndpointName, Endpoint>;

const methodsOf = (routes: FoundRoute[]): string => {
  const methods = routes.flatMap(({ route: { method } }) =>
    method === 'GET' ? ['GET', 'HEAD'] : [method],
  );
  return [...methods, 'OPTIONS'].join(', ');
};

const opensWebSocket = ({ method, headers }: HttpRequest): boolean =>
  method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket';

/** Routes without a key have a fixed reply. @throws ApiError 404 or 400 with a hint, 405 with `allow`, or 426 */
export const routeRequest = (
  endpoints: Endpoints,
  received: Received,
): Routed | { reply: Reply } => {
  const { request, routes, notes } = received;
  const [first] = routes;
  if (!first) throw unknownPath(request.path);
  const method = request.method === 'HEAD' ? 'GET' : request.method;
  const match = routes.find(({ route }) => route.method === method);
  notes.route = (match ?? first).route.pattern;
  if (!match) {
    const allow = methodsOf(routes);
    if (opensWebSocket(request) && 'triesWebSocket' in first.route) throw noWebSocket();
    if (method !== 'OPTIONS') throw methodNotAllowed(allow);
    // A preflight of an allowed origin gets CORS headers as well (write-reply.ts).
    return { reply: { status: 204, headers: { allow }, body: {} } };
  }
  const { route, parameters } = match;
  if (!('endpoint' in route)) return { reply: { status: 200, body: route.body } };
  return {
    ...received,
    endpoint: endpoints[route.endpoint],
    pathParameter: parameters.id,
    dateHeader: 'dateHeader' in route ? route.dateHeader : undefined,
    isBodyless: 'isBodyless' in route,
    isGeneration: route.endpoint === 'generate' || route.endpoint === 'respond',
  };
};

/** @throws ApiError 401, 429 or 503 */
export const identifyCaller = async (
  authenticate: Authenticate,
  routed: Routed,
): Promise<Authenticated> => {
  const { request, notes, isGeneration } = routed;
  const identity = await authenticate(request.headers, request.source);
  const { caller, confirm } = identity;
  notes.keyId = caller.keyId;
  notes.projectId = caller.projectId;
  if (isGeneration) return { ...routed, caller, confirm };
  return { ...routed, caller: await confirmedCaller(identity) };
};

const DATE = /^\d{4}-\d{2}-\d{2}$/;

/** A protocol version is optional, and any date is accepted. @throws ApiError 400 */
const checkDateHeader = ({ request, dateHeader: name }: Routed): void => {
  const value = name && request.headers[name];
  if (value !== undefined && !DATE.test(value)) {
    throw invalidRequest(`The header ${name} must be a date (YYYY-MM-DD) or absent.`);
  }
};

/** The body with the model of the path, where it names none itself. */
const withModel = (body: unknown, deployment: string | undefined): unknown => {
  const fields = asRecord(body);
  return deployment === undefined || !fields || fields.model != null
    ? body
    : { ...fields, model: deployment };
};

/** W3C Trace Context, version 00: trace id, parent id and flags. */
const TRACEPARENT = /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

const traceparentIn = ({ headers }: HttpRequest): string | undefined => {
  const { traceparent } = headers;
  return traceparent !== undefined && TRACEPARENT.test(traceparent) ? traceparent : undefined;
};

const NO_BODY: JsonSource = { raw: '', bytes: 0, nodes: [], value: undefined };

/** Checks the headers, then reads the body of a POST. @throws ApiError 400, 413 or 415 */
export const readCall = async (authenticated: Authenticated, bodies: BodyCache): Promise<Call> => {
  checkDateHeader(authenticated);
  const { request, requestId, protocol, pathParameter, deployment, isBodyless } = authenticated;
  const { caller, confirm, signal, remainingMs, notes, awsRequestId, startedAt } = authenticated;
  const source =
    (isBodyless ? undefined : await readBody(request, () => bodies(caller.keyId))) ?? NO_BODY;
  return {
    requestId,
    awsRequestId,
    traceparent: traceparentIn(request),
    startedAt,
    protocol,
    caller,
    confirm,
    body: withModel(source.value, deployment),
    source,
    headers: request.headers,
    header: (name) => request.headers[name],
    pathParameter,
    query: request.query,
    signal,
    remainingMs,
    notes,
    note: (fields) => Object.assign(notes, fields),
  };
};
