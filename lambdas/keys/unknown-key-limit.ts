import type { Clock } from '../support/clock.ts';
import { rateLimited } from '../support/errors.ts';
import { createLruCache } from '../support/lru-cache.ts';
import { minuteOf, minuteResetsAt, retryAfterMinute } from '../support/time.ts';

/** Lookups a minute without a result. A company behind one address has fewer mistyped keys. */
const MAX_UNKNOWN = 600;
const MAX_SOURCES = 1_000;

/** Limits the reads of the keys table that well-formed but unknown keys of one network address cost. */
export type UnknownKeyLimit = {
  /** @throws ApiError 429 */
  assertAllowed(source: string): void;
  count(source: string): void;
};

/** Each process counts its own, in memory. */
export const createUnknownKeyLimit = (clock: Clock): UnknownKeyLimit => {
  const counts = createLruCache<{ minute: number; unknown: number }>(MAX_SOURCES);
  const countIn = (source: string, minute: number): number => {
    const entry = counts.get(source);
    return entry?.minute === minute ? entry.unknown : 0;
  };
  return {
    assertAllowed: (source) => {
      const now = clock.now();
      if (countIn(source, minuteOf(now)) < MAX_UNKNOWN) return;
      throw rateLimited(
        `${MAX_UNKNOWN} API keys from this address were invalid in this minute. Retry in the next one.`,
        retryAfterMinute(minuteResetsAt(minuteOf(now)), now),
      );
    },
    count: (source) => {
      const minute = minuteOf(clock.now());
      counts.set(source, { minute, unknown: countIn(source, minute) + 1 });
    },
  };
};
