import { expect, test } from 'vitest';
import {
  createFindRoute,
  operate,
  requireOperator,
} from '../../../lambdas/admin/create-admin-handler.ts';
import type { Endpoint } from '../../../lambdas/endpoints/endpoint.ts';
import { createMatchRoute, type Endpoints } from '../../../lambdas/http/match-route.ts';
import {
  identifyCaller,
  type Received,
  type Routed,
  readCall,
  routeRequest,
} from '../../../lambdas/http/stages.ts';
import { ENDPOINT_NAMES } from '../../../lambdas/routes.ts';

type MatchRoute = ReturnType<typeof createMatchRoute>;
type Authenticate = Parameters<typeof identifyCaller>[0];

test('a request whose stages run in a wrong order does not compile', () => {
  // Never called: `tsc` fails if one of these orders compiles.
  const wrongOrders = (received: Received, routed: Routed, authenticate: Authenticate) => [
    // @ts-expect-error a caller is identified only on a matched route
    () => identifyCaller(authenticate, received),
    // @ts-expect-error the body is read only for a matched route
    () => readCall(received),
    // @ts-expect-error the body is read only for a known caller
    () => readCall(routed),
    // @ts-expect-error an endpoint is called only with a known caller and a parsed body
    () => routed.endpoint(routed),
    // @ts-expect-error admin routes are matched only for an operator
    () => createFindRoute([])(received),
    // @ts-expect-error an operation runs only on a matched route
    () => operate(requireOperator(received)),
  ];
  expect(wrongOrders).toBeTypeOf('function');
});

test('a request whose stages run in order compiles', () => {
  const rightOrder = async (
    matchRoute: MatchRoute,
    received: Received,
    authenticate: Authenticate,
  ) => {
    const routed = routeRequest(matchRoute, received);
    if ('reply' in routed) return routed.reply;
    return routed.endpoint(await readCall(await identifyCaller(authenticate, routed)));
  };
  expect(rightOrder).toBeTypeOf('function');
});

test('matching a path returns its endpoint and the decoded path parameter', () => {
  const endpoint: Endpoint = async () => ({ status: 200, body: {} });
  const endpoints = Object.fromEntries(ENDPOINT_NAMES.map((name) => [name, endpoint])) as Endpoints;
  const matchRoute = createMatchRoute(endpoints);
  expect(matchRoute({ method: 'HEAD', path: '/v1/models/vendor%2Fname' })).toEqual({
    pattern: '/v1/models/{id}',
    serve: { endpoint, pathParameter: 'vendor/name', dateHeader: undefined, isBodyless: false },
  });
});
