import type { Reply } from '../../endpoints/endpoint.ts';
import type { MessageBatches } from '../../protocols/sse.ts';
import type { Clock } from '../../support/clock.ts';
import type { Log } from '../../support/log.ts';
import type { Middleware, Received } from '../stages.ts';

type Options = { log: Log; clock: Clock };

/** Runs `action` when the stream ends, also if it is returned before its end. */
async function* onEnd(batches: MessageBatches, action: () => void): MessageBatches {
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
export const accessLog = ({ log, clock }: Options): Middleware => {
  const writeLine = (received: Received, status: number) => {
    const { requestId, startedAt, request, notes } = received;
    log.info('request', {
      requestId,
      method: request.method,
      route: notes.route,
      status,
      ms: clock.now() - startedAt,
      keyId: notes.keyId,
      projectId: notes.projectId,
      ...notes,
    });
  };
  const observe = (received: Received, reply: Reply): Reply => {
    const line = () => writeLine(received, reply.status);
    if ('messages' in reply) return { ...reply, messages: onEnd(reply.messages, line) };
    line();
    return reply;
  };
  const accessLogAfter: Middleware['after'] = (request) => {
    if (request.response) request.response = observe(request.event, request.response);
  };
  return { after: accessLogAfter, onError: accessLogAfter };
};
