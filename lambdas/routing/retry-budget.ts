import { createLruCache } from '../support/lru-cache.ts';

/**
 * Keeps a total outage from tripling the load on the upstreams: a request's third attempt takes a token.
 * The first failover is free, since all requests must move when one target is down. The figures are those
 * of gRPC's retry throttling. Each project has its own tokens: one whose requests fail takes none of others.
 */
export type RetryBudget = {
  succeeded(projectId: string): void;
  failed(projectId: string): void;
  allows(projectId: string, attempt: number): boolean;
};

const MAX_TOKENS = 10;
const TOKENS_PER_SUCCESS = 0.1;
const FREE_ATTEMPTS = 2;
/** Entries exist for projects with failures only. */
const MAX_PROJECTS = 1_000;

export const createRetryBudget = (): RetryBudget => {
  const projects = createLruCache<number>(MAX_PROJECTS);
  return {
    succeeded: (projectId) => {
      const tokens = projects.get(projectId);
      if (tokens === undefined) return;
      if (tokens + TOKENS_PER_SUCCESS >= MAX_TOKENS) projects.delete(projectId);
      else projects.set(projectId, tokens + TOKENS_PER_SUCCESS);
    },
    failed: (projectId) => {
      projects.set(projectId, Math.max(0, (projects.get(projectId) ?? MAX_TOKENS) - 1));
    },
    allows: (projectId, attempt) =>
      attempt <= FREE_ATTEMPTS || (projects.get(projectId) ?? MAX_TOKENS) > MAX_TOKENS / 2,
  };
};
