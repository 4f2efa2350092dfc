import type { Authenticate } from '../../keys/authenticate.ts';
import type { Step } from './step.ts';

/** Finds out whose key it is, on routes that need one. @throws ApiError 401 or 503. */
export const identifyCaller = (authenticate: Authenticate): Step => {
  const identifyCallerBefore: Step['before'] = async ({ event: exchange }) => {
    if (exchange.match && 'endpoint' in exchange.match.route.serve) {
      exchange.caller = await authenticate(exchange.request.headers);
    }
  };
  return { before: identifyCallerBefore };
};
