import { notFound } from '../support/errors.ts';
import { hintFor } from './path-hints.ts';
import { createPathFinder, methodNotAllowed } from './path-pattern.ts';
import type { Route } from './routes.ts';

/** `parameter` is what `{id}` stood for, percent-decoded. */
export type RouteMatch = { route: Route; parameter: string | undefined };

const allowedBy = (routes: Route[]): string => {
  const methods = routes.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  return [...methods, 'OPTIONS'].join(', ');
};

/** A capability answer without CORS headers: browsers hold no keys of this service. */
const optionsRoute = (pattern: string, allow: string): Route => ({
  method: 'OPTIONS',
  pattern,
  serve: { reply: { status: 204, headers: { allow }, body: {} } },
});

/** Finds the route of a request. @throws ApiError 404 with a hint at the usual mistake, or 405 with `allow`. */
export const createMatchRoute = (routes: Route[]) => {
  const findByPath = createPathFinder(routes, 'rest');
  const patterns = routes.map(({ pattern }) => pattern);

  return (method: string, path: string): RouteMatch => {
    const atPath = findByPath(path);
    const [first] = atPath;
    if (!first) throw notFound(hintFor(path, patterns));

    const wanted = method === 'HEAD' ? 'GET' : method;
    const match = atPath.find(({ route }) => route.method === wanted);
    if (match) return { route: match.route, parameter: match.parameters.id };
    const allow = allowedBy(atPath.map(({ route }) => route));
    if (method === 'OPTIONS') {
      return { route: optionsRoute(first.route.pattern, allow), parameter: undefined };
    }
    throw methodNotAllowed(allow);
  };
};
