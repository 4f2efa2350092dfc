import type { Caller } from '../../keys/caller.ts';
import type { Step } from './step.ts';

export type Authenticate = (headers: Record<string, string>) => Promise<Caller>;

/** Finds out whose key it is, on routes that need one. @throws ApiError 401 or 503. */
export const identifyCaller = (authenticate: Authenticate): Step => {
  const identifyCallerBefore: Step['before'] = async ({ event: exchange }) => {
    if (exchange.match && 'endpoint' in exchange.match.route.serve) {
      exchange.caller = await authenticate(exchange.request.headers);
    }
  };
  return { before: identifyCallerBefore };
};
