import middy from '@middy/core';
import { accessLog, receive } from '../http/middleware/access-log.ts';
import { errorEnvelope } from '../http/middleware/error-envelope.ts';
import { writeReply } from '../http/middleware/write-reply.ts';
import { createPathFinder, methodNotAllowed } from '../http/read-address.ts';
import { readBody } from '../http/read-body.ts';
import type { Delivered } from '../http/read-event.ts';
import type { InvocationContext, PlatformResponse, Received } from '../http/stages.ts';
import { callerProtocols } from '../protocols/protocols.ts';
import { StoreUnavailable, UnreadableItem } from '../stores/store-unavailable.ts';
import type { Clock } from '../support/clock.ts';
import { apiError, invalidRequest, notFound } from '../support/errors.ts';
import type { RandomBytes } from '../support/ids.ts';
import type { Log } from '../support/log.ts';
import type { Audit } from './audit.ts';
import { MAX_ID_LENGTH } from './input.ts';
import type { AdminRequest, AdminRoute, PlainReply } from './operation.ts';
import { authorize, type Identity } from './roles.ts';

/** Responds in one piece: to a Lambda function as it is, and to the local server, which writes it. */
export type AdminHandler = (event: Delivered, context: object) => Promise<PlatformResponse>;

export type AdminHandlerOptions = {
  routes: AdminRoute[];
  /** What the paths of the routes begin with: `/admin`. */
  prefix: string;
  /** What a caller without an identity can do about it. */
  unidentified: string;
  /** Whom the public endpoint has authenticated; undefined rejects the request with 403. */
  identify: (event: Delivered) => Identity | undefined;
  audit: Audit;
  log: Log;
  clock: Clock;
  randomBytes: RandomBytes;
};

/** The stages of a request after `Received`; each function takes the stage before its own. */
type Identified = Received & { readonly identity: Identity };
type AdminRouted = Identified & Pick<AdminRequest, 'parameters'> & { route: AdminRoute };
type Authorized = AdminRouted & { readonly isAuthorized: true };

/** Defence in depth: rejects requests that API Gateway did not authenticate. @throws ApiError 403 */
export const requireIdentity = (
  received: Received,
  identity: Identity | undefined,
  unidentified: string,
): Identified => {
  if (!identity) throw invalidRequest(unidentified, { status: 403 });
  received.notes.operator = identity.name;
  return { ...received, identity };
};

/** @throws ApiError 404, or 405 with `allow` */
export const createFindRoute = (routes: AdminRoute[], prefix: string) => {
  const findByPath = createPathFinder(
    routes.map((route) => ({ ...route, pattern: prefix + route.pattern })),
  );
  return (identified: Identified): AdminRouted => {
    const { method, path } = identified.request;
    const candidates = findByPath(path);
    const [first] = candidates;
    if (!first) throw notFound('No such path. docs/admin.md lists them.');
    identified.notes.route = first.route.pattern;
    const match = candidates.find(({ route }) => route.method === method);
    if (!match) throw methodNotAllowed(candidates.map(({ route }) => route.method).join(', '));
    if (Object.values(match.parameters).some(({ length }) => length > MAX_ID_LENGTH)) {
      throw notFound(`No id has more than ${MAX_ID_LENGTH} characters.`);
    }
    return { ...identified, ...match };
  };
};

/** @throws ApiError 403 or 404 */
export const requireRole = (routed: AdminRouted): Authorized => {
  const { identity, route, parameters } = routed;
  authorize(identity, route.need, parameters.project);
  return { ...routed, isAuthorized: true };
};

const reasonOf = (cause: StoreUnavailable, isChange: boolean): string => {
  if (cause instanceof UnreadableItem) return cause.message;
  return isChange
    ? 'Storage unavailable; the change may or may not have been applied. Check before retrying.'
    : 'Storage unavailable. Retry.';
};

const storageUnavailable = (cause: StoreUnavailable, isChange: boolean) =>
  apiError(reasonOf(cause, isChange), { status: 503, cause });

/** Reads the body and runs the operation; what it changes is kept by the audit. @throws ApiError */
export const createOperate =
  (audit: Audit) =>
  async (authorized: Authorized): Promise<PlainReply> => {
    const { request, requestId, startedAt, identity, route, parameters } = authorized;
    const body = await readBody(request); // 400, 413, 415
    const { query } = request;
    const { action, prepare } = route;
    // As plain values: those of the body keep a number's spelling, and 25.0 would be no number.
    const sent: unknown = body && JSON.parse(body.raw.toString());
    const { input, perform } = prepare({ identity, parameters, query, input: sent });
    const who = identity.name;
    try {
      return action === undefined
        ? await perform()
        : await audit({ requestId, startedAt, who, action, parameters, input }, perform);
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      throw storageUnavailable(error, action !== undefined);
    }
  };

/** Who makes the request, in the place of Lambda's context, which every middleware hands on. */
type AdminContext = InvocationContext & { identity: Identity | undefined };

/** Serves requests behind the router's middlewares; errors use the envelope of the chat protocol. */
export const withMiddlewares = (
  { log, clock, randomBytes }: Pick<AdminHandlerOptions, 'log' | 'clock' | 'randomBytes'>,
  serve: (received: Received, context: object) => Promise<PlainReply>,
): AdminHandler => {
  const handler = middy<Received, PlainReply>({ timeoutEarlyInMillis: 0 })
    .use([
      receive({
        clock,
        randomBytes,
        readAddress: (path) => ({ path, protocol: callerProtocols.chat, routes: [] }),
      }),
      writeReply({ log }),
      accessLog({ log, clock }),
      errorEnvelope({ log }),
    ])
    .handler(serve);
  // Middy types its result as the handler it was given; the middlewares change event and response.
  return handler as unknown as AdminHandler;
};

export const createAdminHandler = (options: AdminHandlerOptions): AdminHandler => {
  const { routes, prefix, unidentified, identify, audit } = options;
  const findRoute = createFindRoute(routes, prefix);
  const operate = createOperate(audit);
  const handler = withMiddlewares(options, async (received, context) => {
    const { identity } = context as AdminContext;
    const identified = requireIdentity(received, identity, unidentified);
    return operate(requireRole(findRoute(identified)));
  });
  return (event, context) => handler(event, { ...context, identity: identify(event) });
};
