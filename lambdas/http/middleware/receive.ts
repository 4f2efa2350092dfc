import type { RequestFields } from '../../log-events.ts';
import { type Clock, MAX_INVOCATION_MS } from '../../support/clock.ts';
import { newRequestId, type RandomBytes } from '../../support/ids.ts';
import type { Address } from '../read-address.ts';
import { type Delivered, readEvent } from '../read-event.ts';
import type { InvocationContext, Received } from '../stages.ts';

type Options = { clock: Clock; randomBytes: RandomBytes; readAddress: (path: string) => Address };

/**
 * Fields that are filled in later exist from the start: V8 turns an object that gets more than a dozen by assignment into a
 * dictionary, and to write a line of one takes three times as long.
 */
const blankNotes = (): Partial<RequestFields> => ({
  route: undefined,
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
