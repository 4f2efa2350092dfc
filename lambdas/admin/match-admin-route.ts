import { invalidRequest, notFound } from '../support/errors.ts';
import type { AdminRoute } from './operation.ts';

export type AdminMatch = { route: AdminRoute; parameters: Record<string, string> };

const decode = (segment: string): string | undefined => {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
};

/** The placeholders' values when `path` has the pattern's shape. */
const matchPattern = (pattern: string, path: string): Record<string, string> | undefined => {
  const wanted = pattern.split('/');
  const given = path.split('/');
  if (wanted.length !== given.length) return undefined;
  const parameters: Record<string, string> = {};
  for (const [at, segment] of wanted.entries()) {
    const actual = given[at] ?? '';
    const name = /^\{(\w+)\}$/.exec(segment)?.[1];
    if (name === undefined) {
      if (segment !== actual) return undefined;
      continue;
    }
    const value = decode(actual);
    if (!value) return undefined;
    parameters[name] = value;
  }
  return parameters;
};

/** @throws ApiError 404, or 405 with `allow`. */
export const matchAdminRoute = (routes: AdminRoute[], method: string, path: string): AdminMatch => {
  const atPath = routes.flatMap((route) => {
    const parameters = matchPattern(route.pattern, path);
    return parameters ? [{ route, parameters }] : [];
  });
  if (atPath.length === 0) throw notFound('No such path. docs/admin.md lists them.');
  const match = atPath.find(({ route }) => route.method === method);
  if (match) return match;
  const allow = atPath.map(({ route }) => route.method).join(', ');
  throw invalidRequest(`This path does not take that method; it takes ${allow}.`, {
    status: 405,
    headers: { allow },
  });
};
