/**
 * Keeps a total outage from tripling the load on the upstreams: a request's third attempt takes a token.
 * The first failover is free, since all requests must move when one target is down. The figures are those
 * of gRPC's retry throttling.
 */
export type RetryBudget = { succeeded(): void; failed(): void; allows(attempt: number): boolean };

const MAX_TOKENS = 10;
const TOKENS_PER_SUCCESS = 0.1;
const FREE_ATTEMPTS = 2;

export const createRetryBudget = (): RetryBudget => {
  let tokens = MAX_TOKENS;
  return {
    succeeded: () => {
      tokens = Math.min(MAX_TOKENS, tokens + TOKENS_PER_SUCCESS);
    },
    failed: () => {
      tokens = Math.max(0, tokens - 1);
    },
    allows: (attempt) => attempt <= FREE_ATTEMPTS || tokens > MAX_TOKENS / 2,
  };
};
