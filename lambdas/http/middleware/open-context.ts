import type { CallerProtocol } from '../../protocols/protocol.ts';
import type { Clock } from '../../support/clock.ts';
import { MAX_INVOCATION_MS } from '../../support/durations.ts';
import { newRequestId, type RandomBytes } from '../../support/ids.ts';
import { type HttpEvent, readEvent } from '../read-event.ts';
import type { AnyRequestContext, InvocationContext } from '../request-context.ts';

type Options = {
  clock: Clock;
  randomBytes: RandomBytes;
  /** The protocol family of a path. */
  protocolOf: (path: string) => CallerProtocol;
  /** What the event alone says for the access log line. */
  notesOf?: (event: HttpEvent) => AnyRequestContext['notes'];
};

/**
 * Turns the platform's event into an exchange. The request id is always ours: a caller's could be
 * repeated, forged, or hold anything.
 */
export const openContext = ({ clock, randomBytes, protocolOf, notesOf }: Options) => {
  const openExchangeBefore = (request: {
    event: HttpEvent | AnyRequestContext;
    context: InvocationContext;
  }): void => {
    if ('requestId' in request.event) return;
    const { context } = request;
    const http = readEvent(request.event);
    const exchange: AnyRequestContext = {
      request: http,
      requestId: newRequestId(randomBytes),
      startedAt: clock.now(),
      protocol: protocolOf(http.path),
      signal: context.signal ?? new AbortController().signal,
      // Some hosts set no limit; Lambda's own is the most that any part is written for.
      remainingMs: () => context.getRemainingTimeInMillis?.() ?? MAX_INVOCATION_MS,
      notes: notesOf?.(request.event) ?? {},
      match: undefined,
      caller: undefined,
      body: undefined,
    };
    request.event = exchange;
  };
  return { before: openExchangeBefore };
};
