import { createMatchRoute } from '../match-route.ts';
import type { Route } from '../routes.ts';
import type { Middleware } from './middleware.ts';

/** @throws ApiError 404 or 405 – before the key is looked at, so that a wrong address says so. */
export const findRoute = (routes: Route[]): Middleware => {
  const matchRoute = createMatchRoute(routes);
  const findRouteBefore: Middleware['before'] = ({ event: exchange }) => {
    const { method, path } = exchange.request;
    exchange.match = matchRoute(method, path);
  };
  return { before: findRouteBefore };
};
