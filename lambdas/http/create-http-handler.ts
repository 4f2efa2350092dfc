import type { Writable } from 'node:stream';
import middy from '@middy/core';
import type { Call, Endpoint, Reply } from '../endpoints/endpoint.ts';
import { keyStartIn } from '../keys/api-key.ts';
import {
  type Authenticate,
  type Caller,
  CallerChanged,
  confirmedCaller,
} from '../keys/authenticate.ts';
import type { Refusals, Refused } from '../records/recorder.ts';
import { type Clock, minuteOf, minuteResetsAt, retryAfterMinute } from '../support/clock.ts';
import { type ApiError, rateLimited, toApiError } from '../support/errors.ts';
import type { RandomBytes } from '../support/ids.ts';
import type { Log } from '../support/log.ts';
import { createLruCache } from '../support/memo.ts';
import { omitUndefined } from '../support/objects.ts';
import { type BodyCache, createBodyCache } from './body-cache.ts';
import { accessLog, receive } from './middleware/access-log.ts';
import { errorEnvelope } from './middleware/error-envelope.ts';
import { writeReply } from './middleware/write-reply.ts';
import { readAddress } from './read-address.ts';
import type { Delivered } from './read-event.ts';
import {
  type Authenticated,
  type Endpoints,
  type InvocationContext,
  identifyCaller,
  type PlatformResponse,
  type Received,
  type Routed,
  readCall,
  routeRequest,
} from './stages.ts';
import { writeResponse } from './write-response.ts';

/** How far a request came before its error: its route and its key are known or not. */
type Reached = { routed?: Routed | undefined; caller?: Caller | undefined };

/**
 * What is known of a request that is refused; its model and its route are noted for the log line. Undefined if it took a
 * unit, whose record says more, or asked for what does not exist.
 */
const refusedOf = (
  { requestId, startedAt, protocol, notes, request }: Received,
  { routed, caller }: Reached,
  { error, clock }: { error: ApiError; clock: Clock },
): Refused | undefined => {
  const isAbsent = error.status === 404 && routed?.pathParameter !== undefined;
  if (notes.outcome !== undefined || isAbsent) return undefined;
  const { projectId = '', keyId = '', meterId = '' } = caller ?? {};
  const holder = caller
    ? { projectId, keyId, planId: caller.plan.id }
    : omitUndefined({ keyStart: keyStartIn(request.headers) });
  return {
    id: requestId,
    startedAt,
    ms: clock.now() - startedAt,
    protocol: protocol.name,
    ...holder,
    ...omitUndefined({ route: notes.route, model: notes.model }),
    error,
    counted:
      caller && routed?.isGeneration
        ? { projectId, keyId, meterId, model: notes.model ?? '', status: error.status }
        : undefined,
  };
};

/** Client errors a minute: at least 60, which leaves a small plan room for mistakes, else ten per generation. */
const MIN_ERRORS = 60;
const ERRORS_PER_GENERATION = 10;
const MAX_KEYS = 1_000;

/** 401 of a key that ended after its lookup, and 499 of a client that disconnected. */
const UNCOUNTED = new Set([401, 499]);

const isCounted = (status: number): boolean =>
  status >= 400 && status < 500 && !UNCOUNTED.has(status);

/** 429 until the next minute. */
const tooManyErrors = (limit: number, now: number): ApiError =>
  rateLimited(
    `${limit} requests of this API key were rejected or denied in this minute. Retry in the next one.`,
    retryAfterMinute(minuteResetsAt(minuteOf(now)), now),
    { name: 'rejected_requests_per_minute', limit },
  );

/** Runs `serve`, unless too many requests of the caller's key got a 4xx in this minute. @throws ApiError 429 */
export type LimitClientErrors = <R extends { status: number }>(
  caller: Caller,
  serve: () => Promise<R>,
) => Promise<R>;

/**
 * Limits the 4xx responses of each key and minute. They cost no unit, so that no plan limits them, and all
 * come after the body (up to 5.5 MB) is parsed. Each process counts its own, in memory.
 */
const createClientErrorLimit = ({ clock }: { clock: Clock }): LimitClientErrors => {
  const counts = createLruCache<{ minute: number; errors: number }>(MAX_KEYS);
  const errorsIn = (keyId: string, minute: number): number => {
    const entry = counts.get(keyId);
    return entry?.minute === minute ? entry.errors : 0;
  };
  const count = (keyId: string, status: number) => {
    if (!isCounted(status)) return;
    const minute = minuteOf(clock.now());
    counts.set(keyId, { minute, errors: errorsIn(keyId, minute) + 1 });
  };
  return async ({ keyId, plan }, serve) => {
    const now = clock.now();
    const limit = Math.max(MIN_ERRORS, plan.rpm * ERRORS_PER_GENERATION);
    if (errorsIn(keyId, minuteOf(now)) >= limit) throw tooManyErrors(limit, now);
    try {
      const reply = await serve();
      count(keyId, reply.status);
      return reply;
    } catch (error) {
      count(keyId, toApiError(error).status);
      throw error;
    }
  };
};

/** A streaming Lambda handler; it resolves when the response has been written to its end. */
export type HttpHandler = (
  event: Delivered,
  response: Writable,
  context: InvocationContext,
) => Promise<void>;

export type HttpHandlerOptions = {
  /** Keeps why requests were refused. */
  refusals: Pick<Refusals, 'refuse' | 'writing'>;
  endpoints: Endpoints;
  authenticate: Authenticate;
  log: Log;
  clock: Clock;
  randomBytes: RandomBytes;
  /** Origins of web pages that may call. @default none */
  corsOrigins?: readonly string[] | undefined;
};

/** Parsing a larger body may be what exhausts the memory. */
const LARGE_BODY = 1_000_000;
const STARTED_AFTER_MS = 1_000;

/**
 * Only Lambda ends an invocation without its line. Most requests that it ends run for long, or have a large body; of
 * the others the line would be $0.11 per million requests.
 */
const logStart = ({ log, clock }: HttpHandlerOptions, authenticated: Authenticated) => {
  const { awsRequestId, requestId, caller, notes, request, timers } = authenticated;
  if (awsRequestId === undefined) return;
  const { keyId, projectId } = caller;
  const write = () =>
    log.info('request_started', { requestId, awsRequestId, keyId, projectId, route: notes.route });
  if (request.body.length >= LARGE_BODY) write();
  else timers.push(clock.after(STARTED_AFTER_MS, write));
};

/** A key that has ended gets 401 with any body. @throws ApiError 400, 401, 413, 415 or 503 */
const readConfirmed = async (authenticated: Authenticated, bodies: BodyCache): Promise<Call> => {
  try {
    return await readCall(authenticated, bodies);
  } catch (error) {
    await confirmedCaller(authenticated);
    throw error;
  }
};

/** Calls the endpoint; again if key or plan were changed since they were last read, and so before anything was sent. */
const callEndpoint = async (endpoint: Endpoint, call: Call): Promise<Reply> => {
  try {
    return await endpoint(call);
  } catch (error) {
    if (!(error instanceof CallerChanged)) throw error;
    return endpoint({ ...call, caller: error.caller, confirm: undefined });
  }
};

/** The stages of a request (stages.ts), with the statuses that each may end it with. */
const createServe = (options: HttpHandlerOptions) => {
  const { endpoints, authenticate, clock, refusals } = options;
  const limitClientErrors = createClientErrorLimit({ clock });
  const bodies = createBodyCache();
  return async (received: Received): Promise<Reply> => {
    const reached: Reached = {};
    try {
      const routed = routeRequest(endpoints, received); // 404, 405: a wrong path needs no key
      if ('reply' in routed) return routed.reply;
      reached.routed = routed;
      const authenticated = await identifyCaller(authenticate, routed); // 401, 429, 503
      const { caller, request } = authenticated;
      reached.caller = caller;
      const serve = async () => {
        const call = await readConfirmed(authenticated, bodies); // 400, 401, 413, 415
        return callEndpoint(routed.endpoint, call); // 402, 429, 400, 5xx
      };
      // A GET has no body to parse and a limit in the meter; a held key can still read its usage.
      if (request.method !== 'POST') return await serve();
      logStart(options, authenticated);
      return await limitClientErrors(caller, serve); // 429
    } catch (cause) {
      const refused = refusedOf(received, reached, { error: toApiError(cause), clock });
      if (refused) refusals.refuse(refused);
      throw cause;
    }
  };
};

type Respond = (event: Delivered, context: InvocationContext) => Promise<PlatformResponse>;

/**
 * The one stack in front of all routes. Read the middlewares downwards on the way in, upwards on the way
 * out. `globalThis.awslambda` must exist before this is called.
 */
export const createHttpHandler = (options: HttpHandlerOptions): HttpHandler => {
  const { log, clock, randomBytes, corsOrigins, refusals } = options;
  // Middy's timer stops when the handler returns, before a stream begins; endpoints have deadlines.
  const handler = middy<Received, Reply>({ timeoutEarlyInMillis: 0 })
    .use([
      receive({ clock, randomBytes, readAddress }),
      writeReply({ log, corsOrigins, isStreamed: true }),
      accessLog({ log, clock }),
      errorEnvelope({ log }),
    ])
    .handler(createServe(options));
  // Middy types its result as the handler it was given; the middlewares change event and response.
  const respond = handler as unknown as Respond;
  return awslambda.streamifyResponse(async (event, stream, context) => {
    const response = await respond(event, context);
    await writeResponse(stream, response);
    if (response.after) await response.after;
    // Lambda freezes the process once this resolves.
    const writing = refusals.writing();
    if (writing) await writing;
  }) as unknown as HttpHandler;
};
