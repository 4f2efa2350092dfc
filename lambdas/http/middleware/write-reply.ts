import type { Reply } from '../../endpoints/endpoint.ts';
import { toApiError } from '../../support/errors.ts';
import { suffixOf } from '../../support/ids.ts';
import type { Log } from '../../support/log.ts';
import { describeFailure } from '../describe-failure.ts';
import { eventStream } from '../event-stream.ts';
import type { Exchange } from '../exchange.ts';
import type { PlatformResponse } from './step.ts';

type Options = { log: Log };

const NO_CONTENT = 204;

const SSE_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  // `no-transform` keeps proxies from compressing, `x-accel-buffering` from collecting what should flow.
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
};

/** The tail of a stream whose source threw although it must not: without it SDKs see a normal end. */
const onStreamFailure =
  ({ log }: Options, exchange: Exchange) =>
  (error: unknown) => {
    const { requestId, protocol, startedAt } = exchange;
    log.error('stream_failed', { requestId, ...describeFailure(error) });
    return protocol.encodeStreamError(toApiError(error), requestId, {
      id: suffixOf(requestId),
      model: '',
      created: Math.floor(startedAt / 1000),
      estimatedInputTokens: 0,
    });
  };

const writeBody = (
  options: Options,
  exchange: Exchange,
  reply: Reply,
): Pick<PlatformResponse, 'headers' | 'body'> => {
  if ('messages' in reply) {
    const body = eventStream(reply.messages, exchange.signal, onStreamFailure(options, exchange));
    return { headers: SSE_HEADERS, body };
  }
  if (reply.status === NO_CONTENT) return { headers: {}, body: '' };
  const body = exchange.request.method === 'HEAD' ? '' : JSON.stringify(reply.body);
  return { headers: { 'content-type': 'application/json' }, body };
};

/**
 * Turns the reply into what the platform streams. The only place that writes a header, so that no answer
 * of any kind goes without its request id.
 */
export const writeReply = (options: Options) => {
  const write = (request: { event: Exchange; response?: unknown }, reply: Reply): void => {
    const { requestId } = request.event;
    const { headers, body } = writeBody(options, request.event, reply);
    const response: PlatformResponse = {
      statusCode: reply.status,
      headers: {
        ...headers,
        ...reply.headers,
        'x-request-id': requestId,
        'request-id': requestId,
      },
      body,
    };
    request.response = response;
  };
  const writeReplyAfter = (request: { event: Exchange; response?: Reply | null | undefined }) => {
    if (request.response) write(request, request.response);
  };
  return { after: writeReplyAfter, onError: writeReplyAfter };
};
