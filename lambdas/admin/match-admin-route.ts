import { matchPattern, methodNotAllowed } from '../http/path-pattern.ts';
import { notFound } from '../support/errors.ts';
import type { AdminRoute } from './operation.ts';

export type AdminMatch = { route: AdminRoute; parameters: Record<string, string> };

/** @throws ApiError 404, or 405 with `allow`. */
export const matchAdminRoute = (routes: AdminRoute[], method: string, path: string): AdminMatch => {
  const atPath = routes.flatMap((route) => {
    const parameters = matchPattern(route.pattern, path);
    return parameters ? [{ route, parameters }] : [];
  });
  if (atPath.length === 0) throw notFound('No such path. docs/admin.md lists them.');
  const match = atPath.find(({ route }) => route.method === method);
  if (match) return match;
  throw methodNotAllowed(atPath.map(({ route }) => route.method).join(', '));
};
