import { expect, test } from 'vitest';
import type { Audit } from '../../../lambdas/admin/audit.ts';
import {
  createFindRoute,
  createOperate,
  requireIdentity,
  requireRole,
} from '../../../lambdas/admin/create-admin-handler.ts';
import type { Identity } from '../../../lambdas/admin/roles.ts';
import type { Endpoint } from '../../../lambdas/endpoints/endpoint.ts';
import { createBodyCache } from '../../../lambdas/http/body-cache.ts';
import { readAddress } from '../../../lambdas/http/read-address.ts';
import {
  type Endpoints,
  identifyCaller,
  type Received,
  type Routed,
  readCall,
  routeRequest,
} from '../../../lambdas/http/stages.ts';
import { ENDPOINT_NAMES } from '../../../lambdas/routes.ts';

const NO_BODY = Buffer.alloc(0);

type Authenticate = Parameters<typeof identifyCaller>[0];

test('a request whose stages run in a wrong order does not compile', () => {
  // Never called: `tsc` fails if one of these orders compiles.
  const wrongOrders = (
    received: Received,
    routed: Routed,
    authenticate: Authenticate,
    identity: Identity,
    audit: Audit,
  ) => [
    // @ts-expect-error a caller is identified only on a matched route
    () => identifyCaller(authenticate, received),
    // @ts-expect-error the body is read only for a matched route
    () => readCall(received),
    // @ts-expect-error the body is read only for a known caller
    () => readCall(routed),
    // @ts-expect-error an endpoint is called only with a known caller and a parsed body
    () => routed.endpoint(routed),
    // @ts-expect-error admin routes are matched only for a known identity
    () => createFindRoute([], '')(received),
    // @ts-expect-error roles are checked only on a matched route
    () => requireRole(requireIdentity(received, identity, '')),
    // @ts-expect-error an operation runs only after the check of its roles
    () => createOperate(audit)(createFindRoute([], '')(requireIdentity(received, identity, ''))),
  ];
  expect(wrongOrders).toBeTypeOf('function');
});

test('a request whose stages run in order compiles', () => {
  const rightOrder = async (
    endpoints: Endpoints,
    received: Received,
    authenticate: Authenticate,
  ) => {
    const routed = routeRequest(endpoints, received);
    if ('reply' in routed) return routed.reply;
    return routed.endpoint(
      await readCall(await identifyCaller(authenticate, routed), createBodyCache()),
    );
  };
  expect(rightOrder).toBeTypeOf('function');
});

test('routing a path returns its endpoint and the decoded path parameter', () => {
  const endpoint: Endpoint = async () => ({ status: 200, body: {} });
  const endpoints = Object.fromEntries(ENDPOINT_NAMES.map((name) => [name, endpoint])) as Endpoints;
  const address = readAddress('/v1/models/vendor%2Fname');
  const { path } = address;
  const request = { method: 'HEAD', path, headers: {}, source: '', query: {}, body: NO_BODY };
  const received: Received = {
    ...{ request, ...address, deployment: undefined, notes: {}, timers: [] },
    ...{ requestId: 'req_1', awsRequestId: undefined, startedAt: 0 },
    ...{ signal: new AbortController().signal, remainingMs: () => 0 },
  };
  expect(routeRequest(endpoints, received)).toMatchObject({
    notes: { route: '/v1/models/{id}' },
    ...{ endpoint, pathParameter: 'vendor/name', dateHeader: undefined, isBodyless: false },
  });
});
