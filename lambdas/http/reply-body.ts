import type { Reply } from '../endpoints/endpoint.ts';
import { toApiError } from '../support/errors.ts';
import { suffixOf } from '../support/ids.ts';
import type { Log } from '../support/log.ts';
import { describeFailure } from './describe-failure.ts';
import { eventStream } from './event-stream.ts';
import type { PlatformResponse } from './middleware/middleware.ts';
import type { AnyRequestContext } from './request-context.ts';

const NO_CONTENT = 204;

const SSE_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  // `no-transform` keeps proxies from compressing, `x-accel-buffering` from collecting what should flow.
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
};

/** The tail of a stream whose source threw although it must not: without it SDKs see a normal end. */
const onStreamFailure = (exchange: AnyRequestContext, log: Log) => (error: unknown) => {
  const { requestId, protocol, startedAt } = exchange;
  log.error('stream_failed', { requestId, ...describeFailure(error) });
  return protocol.encodeStreamError(toApiError(error), requestId, {
    id: suffixOf(requestId),
    model: '',
    created: Math.floor(startedAt / 1000),
    estimatedInputTokens: 0,
  });
};

/** The body of an answer and the headers that describe it. */
export const replyBody = (
  exchange: AnyRequestContext,
  reply: Reply,
  log: Log,
): Pick<PlatformResponse, 'headers' | 'body'> => {
  if ('messages' in reply) {
    const body = eventStream(reply.messages, exchange.signal, onStreamFailure(exchange, log));
    return { headers: SSE_HEADERS, body };
  }
  if (reply.status === NO_CONTENT) return { headers: {}, body: '' };
  const body = exchange.request.method === 'HEAD' ? '' : JSON.stringify(reply.body);
  return { headers: { 'content-type': 'application/json' }, body };
};
