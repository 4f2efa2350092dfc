import type { MessageBatches } from '../../protocols/streams/sse.ts';
import type { Clock } from '../../support/clock.ts';
import type { Log } from '../../support/log.ts';
import type { Middleware, Received } from '../stages.ts';

/** Runs `action` when the stream ends, also if it is returned before its end. */
async function* onEnd(batches: MessageBatches, action: () => void): MessageBatches {
  try {
    yield* batches;
  } finally {
    action();
  }
}

const RUNNING_AFTER_MS = 60_000;

const fieldsOf = (
  { requestId, awsRequestId, startedAt, request, notes }: Received,
  now: number,
) => ({
  requestId,
  awsRequestId,
  method: request.method,
  route: notes.route,
  ms: now - startedAt,
  keyId: notes.keyId,
  projectId: notes.projectId,
  ...notes,
});

/**
 * One line a request, of named fields only: never a path (people paste keys into addresses), a header or
 * a body. A stream's line is written when the stream ends, which no hook of the stack gets to see. A
 * request that takes long has an earlier line as well: the platform ends an invocation that times out or
 * runs out of memory without running this code again.
 */
export const accessLog = ({ log, clock }: { log: Log; clock: Clock }): Middleware => {
  const accessLogBefore: Middleware['before'] = ({ event }) => {
    const writeRunning = () => log.info('request_running', fieldsOf(event, clock.now()));
    event.timers.push(clock.after(RUNNING_AFTER_MS, writeRunning));
  };
  const accessLogAfter: Middleware['after'] = (request) => {
    const { event, response: reply } = request;
    if (!reply) return;
    const writeLine = () => {
      for (const cancel of event.timers) cancel();
      log.info('request', { ...fieldsOf(event, clock.now()), status: reply.status });
    };
    if ('messages' in reply) {
      request.response = { ...reply, messages: onEnd(reply.messages, writeLine) };
    } else if ('after' in reply) reply.after.then(writeLine);
    else writeLine();
  };
  return { before: accessLogBefore, after: accessLogAfter, onError: accessLogAfter };
};
