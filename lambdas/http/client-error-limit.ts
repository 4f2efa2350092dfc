import type { Caller } from '../keys/authenticate.ts';
import type { Clock } from '../support/clock.ts';
import { minuteOf, minuteResetsAt, retryAfterMinute } from '../support/clock.ts';
import { type ApiError, rateLimited, toApiError } from '../support/errors.ts';
import { createLruCache } from '../support/lru-cache.ts';

/** Client errors a minute: at least 60, which leaves a small plan room for mistakes, else ten per generation. */
const MIN_ERRORS = 60;
const ERRORS_PER_GENERATION = 10;
const MAX_KEYS = 1_000;

/** 401 of a key that ended after its lookup, and 499 of a client that disconnected. */
const UNCOUNTED = new Set([401, 499]);

const isCounted = (status: number): boolean =>
  status >= 400 && status < 500 && !UNCOUNTED.has(status);

/** 429 until the next minute. */
const tooManyErrors = (limit: number, now: number): ApiError =>
  rateLimited(
    `${limit} requests of this API key were rejected or denied in this minute. Retry in the next one.`,
    retryAfterMinute(minuteResetsAt(minuteOf(now)), now),
  );

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
    const minute = minuteOf(clock.now());
    counts.set(keyId, { minute, errors: errorsIn(keyId, minute) + 1 });
  };
  return async ({ keyId, plan }, serve) => {
    const now = clock.now();
    const limit = Math.max(MIN_ERRORS, plan.rpm * ERRORS_PER_GENERATION);
    if (errorsIn(keyId, minuteOf(now)) >= limit) throw tooManyErrors(limit, now);
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
