import type { Reply } from '../endpoints/endpoint.ts';
import type { HttpRequest } from './read-event.ts';

/** Headers that a page may read: ids, limits, and what to do after an error. */
const EXPOSED = [
  'x-request-id',
  'request-id',
  'retry-after',
  'x-should-retry',
  ...['replayed', 'request-id', 'stored'].map((name) => `idempotent-${name}`),
  'x-router-dropped',
  ...['limit', 'remaining', 'reset'].map((name) => `x-ratelimit-${name}-requests`),
  ...['limit', 'remaining', 'reset'].map((name) => `anthropic-ratelimit-requests-${name}`),
].join(', ');

const HEADER_NAMES = /^[\w, -]{1,1000}$/;
/** Seconds that a browser keeps the result of a preflight. */
const MAX_AGE = '600';

const isPreflight = ({ method, headers }: HttpRequest): boolean =>
  method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;

const preflightHeaders = ({ headers }: HttpRequest, allow: string): Record<string, string> => {
  const asked = headers['access-control-request-headers'] ?? '';
  return {
    'access-control-allow-methods': allow,
    // Every header that an SDK sends: keys are in headers, and no cookie is ever read.
    ...(HEADER_NAMES.test(asked) && { 'access-control-allow-headers': asked }),
    'access-control-max-age': MAX_AGE,
  };
};

/**
 * CORS headers of a reply: none unless the request's origin is one of `origins`, so that a browser keeps
 * every other page from reading it. A request without an origin is not from a page.
 */
export const corsHeaders = (
  origins: readonly string[],
  request: HttpRequest,
  reply: Pick<Reply, 'headers'>,
): Record<string, string> => {
  if (origins.length === 0) return {};
  const { origin } = request.headers;
  // Caches must not return one origin's reply to another.
  if (origin === undefined || !origins.includes(origin)) return { vary: 'origin' };
  return {
    vary: 'origin',
    'access-control-allow-origin': origin,
    'access-control-expose-headers': EXPOSED,
    ...(isPreflight(request) && preflightHeaders(request, reply.headers?.allow ?? '')),
  };
};
