import middy from '@middy/core';
import type { JsonReply } from '../endpoints/endpoint.ts';
import { accessLog } from '../http/middleware/access-log.ts';
import { errorEnvelope } from '../http/middleware/error-envelope.ts';
import { receive } from '../http/middleware/receive.ts';
import { writeReply } from '../http/middleware/write-reply.ts';
import { createPathFinder, methodNotAllowed } from '../http/path-pattern.ts';
import { readBody } from '../http/read-body.ts';
import type { HttpEvent } from '../http/read-event.ts';
import type { PlatformResponse, Received } from '../http/stages.ts';
import { callerProtocols } from '../protocols/protocols.ts';
import { StoreUnavailable } from '../stores/store-unavailable.ts';
import type { Clock } from '../support/clock.ts';
import { apiError, invalidRequest, notFound } from '../support/errors.ts';
import type { RandomBytes } from '../support/ids.ts';
import type { Log } from '../support/log.ts';
import type { AdminRequest, AdminRoute } from './operation.ts';

/** A Lambda handler that responds in one piece. */
export type AdminHandler = (event: HttpEvent, context: object) => Promise<PlatformResponse>;

export type AdminHandlerOptions = {
  routes: AdminRoute[];
  /** The operator that the public endpoint has authenticated; undefined if it has not. */
  operatorOf: (event: HttpEvent) => string | undefined;
  log: Log;
  clock: Clock;
  randomBytes: RandomBytes;
};

/** The stages of an operator's request after `Received`; each function takes the stage before its own. */
type Authorized = Received & { readonly operator: string };
type AdminRouted = Authorized & Pick<AdminRequest, 'parameters'> & { route: AdminRoute };

/** Defence in depth: rejects requests that API Gateway did not authorize. @throws ApiError 403 */
export const requireOperator = (received: Received): Authorized => {
  const { operator } = received.notes;
  if (operator !== undefined) return { ...received, operator };
  throw invalidRequest('Operators sign their requests with AWS credentials.', { status: 403 });
};

/** @throws ApiError 404, or 405 with `allow` */
export const createFindRoute = (routes: AdminRoute[]) => {
  const findByPath = createPathFinder(routes);
  return (authorized: Authorized): AdminRouted => {
    const { method, path } = authorized.request;
    const candidates = findByPath(path);
    if (candidates.length === 0) throw notFound('No such path. docs/admin.md lists them.');
    const match = candidates.find(({ route }) => route.method === method);
    if (!match) throw methodNotAllowed(candidates.map(({ route }) => route.method).join(', '));
    authorized.notes.route = match.route.pattern;
    return { ...authorized, ...match };
  };
};

/** Reads the body and runs the operation. @throws ApiError */
export const operate = async ({ request, route, parameters }: AdminRouted): Promise<JsonReply> => {
  const body = await readBody(request); // 400, 413, 415
  try {
    return await route.operate({ parameters, query: request.query, body: body?.value });
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    throw apiError(
      'Storage unavailable; the change may or may not have been applied. Check before retrying.',
      {
        status: 503,
        cause: error,
      },
    );
  }
};

/** The admin routes behind the router's middlewares; errors use the envelope of the chat protocol. */
export const createAdminHandler = (options: AdminHandlerOptions): AdminHandler => {
  const { routes, operatorOf, log, clock, randomBytes } = options;
  const findRoute = createFindRoute(routes);
  const handler = middy<Received, JsonReply>({ timeoutEarlyInMillis: 0 })
    .use([
      receive({
        clock,
        randomBytes,
        readAddress: (path) => ({ path, protocol: callerProtocols.chat, routes: [] }),
        notesOf: (event) => ({ operator: operatorOf(event) }),
      }),
      writeReply({ log, textBody: (text) => text }),
      accessLog({ log, clock }),
      errorEnvelope({ log }),
    ])
    .handler((received) => operate(findRoute(requireOperator(received))));
  // Middy types its result as the handler it was given; the middlewares change event and response.
  return handler as unknown as AdminHandler;
};
