import type { Caller } from '../keys/caller.ts';
import type { Clock } from '../support/clock.ts';
import { type ApiError, rateLimited, toApiError } from '../support/errors.ts';
import { createLruCache } from '../support/lru-cache.ts';
import { MINUTE_MS } from '../support/time.ts';

/** Client errors a minute: at least 60, which leaves a small plan room for mistakes, else ten per generation. */
const MIN_ERRORS = 60;
const ERRORS_PER_GENERATION = 10;
const MAX_KEYS = 1_000;

/** 401 of a key that ended after its lookup, and 499 of a client that disconnected. */
const UNCOUNTED = new Set([401, 499]);

const isCounted = (status: number): boolean =>
  status >= 400 && status < 500 && !UNCOUNTED.has(status);

/** 429 until the next minute. `retry-after` is 1 to 60, `retry-after-ms` is exact. */
const tooManyErrors = (most: number, now: number): ApiError => {
  const waitMs = MINUTE_MS - (now % MINUTE_MS);
  return rateLimited(
    `${most} requests of this API key were rejected or denied in this minute. Retry in the next one.`,
    { 'retry-after': String(Math.ceil(waitMs / 1_000)), 'retry-after-ms': String(waitMs) },
  );
};

/** Runs `serve`, unless too many requests of the caller's key got a 4xx in this minute. @throws ApiError 429 */
export type LimitClientErrors = <R extends { status: number }>(
  caller: Caller,
  serve: () => Promise<R>,
) => Promise<R>;

/**
 * Limits the 4xx responses of each key and minute. They cost no unit, so that no plan limits them, and all
 * come after the body (up to 5.5 MB) is parsed. Each process counts its own, in memory.
 */
export const createClientErrorLimit = ({ clock }: { clock: Clock }): LimitClientErrors => {
  const counts = createLruCache<{ minute: number; errors: number }>(MAX_KEYS);
  const errorsIn = (keyId: string, minute: number): number => {
    const entry = counts.get(keyId);
    return entry?.minute === minute ? entry.errors : 0;
  };
  const count = (keyId: string, status: number) => {
    if (!isCounted(status)) return;
    const minute = Math.floor(clock.now() / MINUTE_MS);
    counts.set(keyId, { minute, errors: errorsIn(keyId, minute) + 1 });
  };
  return async ({ keyId, plan }, serve) => {
    const now = clock.now();
    const most = Math.max(MIN_ERRORS, plan.rpm * ERRORS_PER_GENERATION);
    if (errorsIn(keyId, Math.floor(now / MINUTE_MS)) >= most) throw tooManyErrors(most, now);
    try {
      const reply = await serve();
      count(keyId, reply.status);
      return reply;
    } catch (error) {
      count(keyId, toApiError(error).status);
      throw error;
    }
  };
};
