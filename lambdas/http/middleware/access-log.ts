import type { RequestFields } from '../../log-events.ts';
import type { MessageBatches } from '../../protocols/streams/sse.ts';
import { type Clock, MAX_INVOCATION_MS } from '../../support/clock.ts';
import { newRequestId, type RandomBytes } from '../../support/ids.ts';
import type { Log } from '../../support/log.ts';
import type { Address } from '../read-address.ts';
import { type Delivered, readEvent } from '../read-event.ts';
import type { InvocationContext, Middleware, Received } from '../stages.ts';

type Options = { clock: Clock; randomBytes: RandomBytes; readAddress: (path: string) => Address };

/**
 * Fields that are filled in later exist from the start: V8 turns an object that gets more than a dozen by assignment into a
 * dictionary, and to write a line of one takes three times as long.
 */
const blankNotes = (): Partial<RequestFields> => ({
  requestId: '',
  awsRequestId: undefined,
  method: '',
  route: undefined,
  ms: 0,
  keyId: undefined,
  projectId: undefined,
  model: undefined,
  stream: undefined,
  upstream: undefined,
  attempts: undefined,
  failedAttempts: undefined,
  failedOver: undefined,
  quotaLeft: undefined,
  empty: undefined,
  exhausted: undefined,
  fault: undefined,
  firstContentMs: undefined,
  finish: undefined,
  inputTokens: undefined,
  inputEstimated: undefined,
  estimatedInputTokens: undefined,
  outputTokens: undefined,
  cacheReadTokens: undefined,
  cacheWriteTokens: undefined,
  cacheWriteLongTokens: undefined,
  cacheMissReason: undefined,
  reasoningTokens: undefined,
  outcome: undefined,
  cut: undefined,
});

/**
 * Turns a request, or the platform's event of one, into a received request. The request id is always generated: a caller's
 * could be repeated, forged, or hold any text.
 */
export const receive = ({ clock, randomBytes, readAddress }: Options) => {
  const receiveBefore = (invocation: {
    event: Delivered | Received;
    context: InvocationContext;
  }): void => {
    const { event, context } = invocation;
    if ('requestId' in event) return;
    const request = 'method' in event ? event : readEvent(event);
    const { path, protocol, deployment, routes } = readAddress(request.path);
    const received: Received = {
      request: { ...request, path },
      requestId: newRequestId(randomBytes, clock.now()),
      awsRequestId: context.awsRequestId,
      startedAt: clock.now(),
      protocol,
      deployment,
      routes,
      signal: context.signal ?? new AbortController().signal,
      // Other hosts set no limit; deadlines are designed for at most Lambda's.
      remainingMs: () => context.getRemainingTimeInMillis?.() ?? MAX_INVOCATION_MS,
      notes: blankNotes(),
      timers: [],
    };
    invocation.event = received;
  };
  return { before: receiveBefore };
};

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
  // First, and so in the order of the blank fields: V8 copies the object that a literal begins with at once.
  ...notes,
  requestId,
  awsRequestId,
  method: request.method,
  ms: now - startedAt,
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
