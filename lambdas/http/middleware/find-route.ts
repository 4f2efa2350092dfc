import { createMatchRoute } from '../match-route.ts';
import type { Route } from '../routes.ts';
import type { Step } from './step.ts';

/** @throws ApiError 404 or 405 – before the key is looked at, so that a wrong address says so. */
export const findRoute = (routes: Route[]): Step => {
  const matchRoute = createMatchRoute(routes);
  const findRouteBefore: Step['before'] = ({ event: exchange }) => {
    const { method, path } = exchange.request;
    exchange.match = matchRoute(method, path);
  };
  return { before: findRouteBefore };
};
