import { createPathFinder, methodNotAllowed } from '../http/path-pattern.ts';
import { notFound } from '../support/errors.ts';
import type { AdminRoute } from './operation.ts';

export type AdminMatch = { route: AdminRoute; parameters: Record<string, string> };

/** Finds the operation of a request. @throws ApiError 404, or 405 with `allow`. */
export const createMatchAdminRoute = (routes: AdminRoute[]) => {
  const findByPath = createPathFinder(routes);
  return (method: string, path: string): AdminMatch => {
    const atPath = findByPath(path);
    if (atPath.length === 0) throw notFound('No such path. docs/admin.md lists them.');
    const match = atPath.find(({ route }) => route.method === method);
    if (match) return match;
    throw methodNotAllowed(atPath.map(({ route }) => route.method).join(', '));
  };
};
