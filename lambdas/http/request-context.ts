import type { Caller } from '../keys/caller.ts';
import type { RequestFields } from '../log-events.ts';
import type { CallerProtocol } from '../protocols/protocol.ts';
import type { RouteMatch } from './match-route.ts';
import type { HttpRequest } from './read-event.ts';

/** What the platform tells about an invocation. `signal` is absent on Lambda, which does not report a disconnect. */
export type InvocationContext = {
  getRemainingTimeInMillis?: () => number;
  signal?: AbortSignal;
};

/** What the shared middlewares want to know of a matched route. */
type Matched = { route: { method: string; pattern: string } };

/**
 * One request on its way through the stack; each middleware fills in what it found out. `Match` is what
 * the handler's own routes look like.
 */
export type RequestContext<Match extends Matched = RouteMatch> = {
  readonly request: HttpRequest;
  readonly requestId: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** The family of the path: it shapes every answer, errors of the edge included. */
  readonly protocol: CallerProtocol;
  readonly signal: AbortSignal;
  remainingMs(): number;
  /** Fields for the access log line. */
  readonly notes: Partial<RequestFields>;
  match: Match | undefined;
  caller: Caller | undefined;
  /** The parsed body and its decoded size in bytes. */
  body: { value: unknown; bytes: number } | undefined;
};

/** An exchange of any handler. */
export type AnyRequestContext = RequestContext<Matched>;
