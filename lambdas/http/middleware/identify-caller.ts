import type { Authenticate } from '../../keys/authenticate.ts';
import type { Middleware } from './middleware.ts';

/** Finds out whose key it is, on routes that need one. @throws ApiError 401 or 503. */
export const identifyCaller = (authenticate: Authenticate): Middleware => {
  const identifyCallerBefore: Middleware['before'] = async ({ event: exchange }) => {
    if (exchange.match && 'endpoint' in exchange.match.route.serve) {
      exchange.caller = await authenticate(exchange.request.headers);
    }
  };
  return { before: identifyCallerBefore };
};
