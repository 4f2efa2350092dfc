import type { Reply } from '../../endpoints/endpoint.ts';
import type { Log } from '../../support/log.ts';
import { replyBody } from '../reply-body.ts';
import type { AnyRequestContext } from '../request-context.ts';
import type { PlatformResponse } from './middleware.ts';

/**
 * Turns the reply into what the platform streams. The only place that writes a header, so that no answer
 * of any kind goes without its request id.
 */
export const writeReply = ({ log }: { log: Log }) => {
  const write = (request: { event: AnyRequestContext; response?: unknown }, reply: Reply): void => {
    const { requestId } = request.event;
    const { headers, body } = replyBody(request.event, reply, log);
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
  const writeReplyAfter = (request: {
    event: AnyRequestContext;
    response?: Reply | null | undefined;
  }) => {
    if (request.response) write(request, request.response);
  };
  return { after: writeReplyAfter, onError: writeReplyAfter };
};
