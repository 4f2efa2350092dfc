import { invalidRequest, notFound } from '../support/errors.ts';
import { hintFor } from './path-hints.ts';
import type { Route } from './routes.ts';

/** `parameter` is what `{id}` stood for, percent-decoded. */
export type RouteMatch = { route: Route; parameter: string | undefined };

const PARAMETER = '{id}';

const decode = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
};

type Parameter = Pick<RouteMatch, 'parameter'>;

const matchPattern = (pattern: string, path: string): Parameter | undefined => {
  if (!pattern.endsWith(PARAMETER)) return pattern === path ? { parameter: undefined } : undefined;
  const prefix = pattern.slice(0, -PARAMETER.length);
  if (!path.startsWith(prefix) || path.endsWith('/')) return undefined;
  const parameter = decode(path.slice(prefix.length));
  return parameter ? { parameter } : undefined;
};

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

/** @throws ApiError 404 with a hint at the usual mistake, or 405 with `allow`. */
export const matchRoute = (routes: Route[], method: string, path: string): RouteMatch => {
  const atPath = routes.flatMap((route) => {
    const matched = matchPattern(route.pattern, path);
    return matched ? [{ route, ...matched }] : [];
  });
  const [first] = atPath;
  const patterns = routes.map(({ pattern }) => pattern);
  if (!first) throw notFound(hintFor(path, patterns));

  const wanted = method === 'HEAD' ? 'GET' : method;
  const match = atPath.find(({ route }) => route.method === wanted);
  if (match) return match;
  const allow = allowedBy(atPath.map(({ route }) => route));
  if (method === 'OPTIONS') {
    return { route: optionsRoute(first.route.pattern, allow), parameter: undefined };
  }
  throw invalidRequest(`This path does not take that method; it takes ${allow}.`, {
    status: 405,
    headers: { allow },
  });
};
