import type { Endpoint, Reply } from '../endpoints/endpoint.ts';
import { type EndpointName, ROUTES } from '../routes.ts';
import { createPathFinder, methodNotAllowed } from './path-pattern.ts';
import { unknownPath } from './read-address.ts';
import type { HttpRequest } from './read-event.ts';

/** Each endpoint that the table of routes (routes.ts) names. */
export type Endpoints = Record<EndpointName, Endpoint>;

export type RouteMatch = {
  pattern: string;
  serve:
    | {
        endpoint: Endpoint;
        pathParameter: string | undefined;
        dateHeader: string | undefined;
        isBodyless: boolean;
      }
    | { reply: Reply };
};

export type MatchRoute = (request: Pick<HttpRequest, 'method' | 'path'>) => RouteMatch;

type Row = (typeof ROUTES)[number];

const allowedBy = (rows: Row[]): string => {
  const methods = rows.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  return [...methods, 'OPTIONS'].join(', ');
};

/** Lists the methods; a preflight of an allowed origin gets CORS headers as well (write-reply.ts). */
const optionsReply = (allow: string): Reply => ({ status: 204, headers: { allow }, body: {} });

/** Finds the route of a request. @throws ApiError 404 or 400 with a hint, or 405 with `allow` */
export const createMatchRoute = (endpoints: Endpoints): MatchRoute => {
  const findByPath = createPathFinder<Row>(ROUTES, 'rest');

  const serveRow = (row: Row, pathParameter: string | undefined): RouteMatch['serve'] => {
    if (!('endpoint' in row)) return { reply: { status: 200, body: row.body } };
    const dateHeader = 'dateHeader' in row ? row.dateHeader : undefined;
    const isBodyless = 'isBodyless' in row;
    return { endpoint: endpoints[row.endpoint], pathParameter, dateHeader, isBodyless };
  };

  return ({ method, path }) => {
    const candidates = findByPath(path);
    const [first] = candidates;
    if (!first) throw unknownPath(path);

    const routeMethod = method === 'HEAD' ? 'GET' : method;
    const match = candidates.find(({ route }) => route.method === routeMethod);
    const { pattern } = (match ?? first).route;
    if (match) return { pattern, serve: serveRow(match.route, match.parameters.id) };
    const allow = allowedBy(candidates.map(({ route }) => route));
    if (method === 'OPTIONS') return { pattern, serve: { reply: optionsReply(allow) } };
    throw methodNotAllowed(allow);
  };
};
