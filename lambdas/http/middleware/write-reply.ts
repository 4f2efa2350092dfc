import type { Reply, StreamReply } from '../../endpoints/endpoint.ts';
import { formatSse, type MessageBatches, type SseMessage } from '../../protocols/streams/sse.ts';
import { toApiError } from '../../support/errors.ts';
import { suffixOf } from '../../support/ids.ts';
import type { Log } from '../../support/log.ts';
import { describeFailure } from '../describe-failure.ts';
import type { HttpRequest } from '../read-event.ts';
import type { PlatformResponse, Received, Texts } from '../stages.ts';
import { encoded } from '../write-response.ts';

// --- streams ---

const NO_CONTENT = 204;

const SSE_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  // Against proxies, whose compression waits for more text: `no-transform`; against buffering: `x-accel-buffering`.
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
};

/** `no-store`: a shared cache in front of the router may not know that `x-api-key` identifies a caller. */
const JSON_HEADERS = {
  'content-type': 'application/json',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
};

/** The last messages of a stream that failed after `sent`, its last text that has an event. */
type OnFailure = (error: unknown, sent: string) => SseMessage[];

/** Logs the error of a stream that must not throw, and encodes it: without it SDKs see a normal end. */
const onStreamFailure =
  (received: Received, log: Log): OnFailure =>
  (error, sent) => {
    const { requestId, awsRequestId, protocol, startedAt } = received;
    log.error('stream_failed', { requestId, awsRequestId, ...describeFailure(error) });
    const created = Math.floor(startedAt / 1000);
    const meta = {
      ...{ id: suffixOf(requestId), model: '', created, now: () => created },
      estimateInput: () => 0,
    };
    return protocol.encodeStreamError(toApiError(error), requestId, meta, sent);
  };

/** Text of each batch, for one write. Never throws: an error of `batches` becomes the last messages. */
export async function* format(batches: MessageBatches, onFailure: OnFailure): Texts {
  let sent = '';
  try {
    for await (const batch of batches) {
      const text = batch.map(formatSse).join('');
      if (text.includes('data: ')) sent = text;
      if (text !== '') yield text;
    }
  } catch (error) {
    // On Lambda an error thrown after the headers ends the whole process.
    yield onFailure(error, sent).map(formatSse).join('');
  }
}

// --- CORS ---

/** Headers that a page may read: ids, limits, and what to do after an error. */
const EXPOSED = [
  'x-request-id',
  'request-id',
  'retry-after',
  'x-should-retry',
  ...['replayed', 'request-id', 'stored'].map((name) => `idempotent-${name}`),
  'x-router-counted-by',
  'x-router-dropped',
  'x-router-model',
  'deprecation',
  'sunset',
  ...['limit', 'remaining', 'reset'].map((name) => `x-ratelimit-${name}-requests`),
  ...['limit', 'remaining', 'reset'].map((name) => `anthropic-ratelimit-requests-${name}`),
].join(', ');

const HEADER_NAMES = /^[\w, -]{1,1000}$/;
/** Seconds that a browser keeps the result of a preflight. */
const MAX_AGE = '600';

const isPreflight = ({ method, headers }: HttpRequest): boolean =>
  method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;

const preflightHeaders = ({ headers }: HttpRequest, allow: string): Record<string, string> => {
  const asked = headers['access-control-request-headers'] ?? '';
  return {
    'access-control-allow-methods': allow,
    // Every header that an SDK sends: keys are in headers, and no cookie is ever read.
    ...(HEADER_NAMES.test(asked) && { 'access-control-allow-headers': asked }),
    'access-control-max-age': MAX_AGE,
  };
};

/**
 * CORS headers of a reply: none unless the request's origin is one of `origins`, so that a browser keeps
 * every other page from reading it. A request without an origin is not from a page.
 */
const corsHeaders = (
  origins: readonly string[],
  request: HttpRequest,
  reply: Pick<Reply, 'headers'>,
): Record<string, string> => {
  if (origins.length === 0) return {};
  const { origin } = request.headers;
  // Caches must not return one origin's reply to another.
  if (origin === undefined || !origins.includes(origin)) return { vary: 'origin' };
  return {
    vary: 'origin',
    'access-control-allow-origin': origin,
    'access-control-expose-headers': EXPOSED,
    ...(isPreflight(request) && preflightHeaders(request, reply.headers?.allow ?? '')),
  };
};

// --- replies ---

type WriteOptions = {
  log: Log;
  /** Origins whose pages may read replies. @default none */
  corsOrigins?: readonly string[] | undefined;
  /** Whether `writeResponse` sends what this returns, as bytes. @default as text, as a REST API passes it */
  isStreamed?: boolean;
};

const textOf = (reply: Exclude<Reply, StreamReply>): string => {
  if ('text' in reply) return reply.text;
  return 'json' in reply ? reply.json : JSON.stringify(reply.body);
};

/** The body of a reply and the headers that describe it. */
const encodeBody = (
  received: Received,
  reply: Reply,
  { log }: WriteOptions,
): Pick<PlatformResponse, 'headers' | 'body'> => {
  if ('messages' in reply) {
    return { headers: SSE_HEADERS, body: format(reply.messages, onStreamFailure(received, log)) };
  }
  if (reply.status === NO_CONTENT) return { headers: {}, body: '' };
  const body = received.request.method === 'HEAD' ? '' : textOf(reply);
  return { headers: 'text' in reply ? {} : JSON_HEADERS, body };
};

/**
 * Turns the reply into what the platform streams. The only place that writes headers, so that every
 * response has its request id.
 */
export const writeReply = (options: WriteOptions) => {
  const toResponse = (received: Received, reply: Reply): PlatformResponse => {
    const { requestId } = received;
    const { headers, body } = encodeBody(received, reply, options);
    const ids = { 'x-request-id': requestId, 'request-id': requestId };
    const cors = corsHeaders(options.corsOrigins ?? [], received.request, reply);
    const response = {
      statusCode: reply.status,
      headers: { ...headers, ...cors, ...reply.headers, ...ids },
      body,
      ...('after' in reply && { after: reply.after }),
    };
    return options.isStreamed ? encoded(received.request, response) : response;
  };
  const writeReplyAfter = (invocation: {
    event: Received;
    response?: Reply | PlatformResponse | null | undefined;
  }) => {
    const { event, response: reply } = invocation;
    if (reply && 'status' in reply) invocation.response = toResponse(event, reply);
  };
  return { after: writeReplyAfter, onError: writeReplyAfter };
};
