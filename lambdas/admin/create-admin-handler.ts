import middy from '@middy/core';
import type { JsonReply } from '../endpoints/endpoint.ts';
import { accessLog } from '../http/middleware/access-log.ts';
import { errorEnvelope } from '../http/middleware/error-envelope.ts';
import type { Middleware, PlatformResponse } from '../http/middleware/middleware.ts';
import { openContext } from '../http/middleware/open-context.ts';
import { readBody } from '../http/middleware/read-body.ts';
import { writeReply } from '../http/middleware/write-reply.ts';
import type { HttpEvent } from '../http/read-event.ts';
import type { RequestContext } from '../http/request-context.ts';
import { callerProtocols } from '../protocols/protocols.ts';
import { StoreUnavailable } from '../stores/store-unavailable.ts';
import type { Clock } from '../support/clock.ts';
import { apiError, invalidRequest } from '../support/errors.ts';
import type { RandomBytes } from '../support/ids.ts';
import type { Log } from '../support/log.ts';
import { type AdminMatch, createMatchAdminRoute } from './match-admin-route.ts';
import type { AdminRoute } from './operation.ts';

type AdminExchange = RequestContext<AdminMatch>;
type AdminStep = Middleware<AdminExchange>;

/** A Lambda handler that answers in one piece. */
export type AdminHandler = (event: HttpEvent, context: object) => Promise<PlatformResponse>;

export type AdminHandlerOptions = {
  routes: AdminRoute[];
  /** Who operates, as the door in front has found out; undefined when it has not. */
  operatorOf: (event: HttpEvent) => string | undefined;
  log: Log;
  clock: Clock;
  randomBytes: RandomBytes;
};

/** The platform authorizes; this refuses to run where nobody has, should a door be added without a lock. */
const requireOperator = (): AdminStep => ({
  before: ({ event: { notes } }) => {
    if (notes.operator !== undefined) return;
    throw invalidRequest('Operators sign their requests with AWS credentials.', { status: 403 });
  },
});

const findRoute = (routes: AdminRoute[]): AdminStep => {
  const matchAdminRoute = createMatchAdminRoute(routes);
  return {
    before: ({ event: exchange }) => {
      const { method, path } = exchange.request;
      exchange.match = matchAdminRoute(method, path);
    },
  };
};

const operate = async ({ match, body }: AdminExchange): Promise<JsonReply> => {
  if (!match) throw new Error('a request passed the stack without a route');
  const { route, parameters } = match;
  try {
    return await route.operate({ parameters, body: body?.value });
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    throw apiError('The tables did not answer. Look before you repeat a change.', {
      status: 503,
      cause: error,
    });
  }
};

/** The operator's routes behind the router's own middlewares; errors are in the chat family's envelope. */
export const createAdminHandler = (options: AdminHandlerOptions): AdminHandler => {
  const { routes, operatorOf, log, clock, randomBytes } = options;
  const handler = middy<AdminExchange, JsonReply>({ timeoutEarlyInMillis: 0 })
    .use([
      openContext({
        clock,
        randomBytes,
        protocolOf: () => callerProtocols.chat,
        notesOf: (event) => ({ operator: operatorOf(event) }),
      }),
      writeReply({ log }),
      accessLog({ log, clock }),
      errorEnvelope({ log }),
      requireOperator(),
      findRoute(routes),
      readBody(),
    ])
    .handler(operate);
  // Middy types its result as the handler it was given; the stack changes what goes in and comes out.
  return handler as unknown as AdminHandler;
};
