import type { Reply } from '../../endpoints/endpoint.ts';
import type { Clock } from '../../support/clock.ts';
import type { Log } from '../../support/log.ts';
import type { MessageBatches } from '../event-stream.ts';
import type { AnyRequestContext } from '../request-context.ts';
import type { SharedMiddleware } from './middleware.ts';

type Options = { log: Log; clock: Clock };

async function* finallyRun(batches: MessageBatches, action: () => void): MessageBatches {
  try {
    yield* batches;
  } finally {
    action();
  }
}

/**
 * One line a request, of named fields only: never a path (people paste keys into addresses), a header or
 * a body. A stream's line is written when the stream ends, which no hook of the stack gets to see.
 */
export const accessLog = ({ log, clock }: Options): SharedMiddleware => {
  const writeLine = (exchange: AnyRequestContext, status: number) => {
    const { requestId, startedAt, request, match, caller, notes } = exchange;
    log.info('request', {
      requestId,
      method: request.method,
      route: match?.route.pattern,
      status,
      ms: clock.now() - startedAt,
      keyId: caller?.keyId,
      projectId: caller?.projectId,
      ...notes,
    });
  };
  const observe = (exchange: AnyRequestContext, reply: Reply): Reply => {
    const line = () => writeLine(exchange, reply.status);
    if ('messages' in reply) return { ...reply, messages: finallyRun(reply.messages, line) };
    line();
    return reply;
  };
  const accessLogAfter: SharedMiddleware['after'] = (request) => {
    if (request.response) request.response = observe(request.event, request.response);
  };
  return { after: accessLogAfter, onError: accessLogAfter };
};
