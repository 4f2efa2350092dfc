import { StoreUnavailable } from '../stores/store-unavailable.ts';
import type { Clock } from '../support/clock.ts';
import { createLruCache } from '../support/lru-cache.ts';
import { withTimeout } from '../support/with-timeout.ts';

/** A change in the table is seen after this; with the read it keeps revocation below 15 s. */
const FRESH_MS = 10_000;
/** Shorter for misses: a key that was asked for before it existed works after at most this long. */
const ABSENT_FRESH_MS = 5_000;
/** While the table fails, what was known of a key or plan serves on for this long. */
const STALE_MS = 10 * 60_000;
/** While the table fails, it is asked again only this often: each failing read may take 3 s. */
const RETRY_PAUSE_MS = 5_000;
/**
 * A caller whose key is cached waits at most this long for a slow table. The read continues, and the next
 * request sees its result.
 */
const PATIENCE_MS = 250;
const MAX_ENTRIES = 1_000;

type Entry<Value> = { value: Value | undefined; readAt: number; askAgainAt: number };

/**
 * Reads through a cache of this environment: one read at a time for an id, however many ask.
 * @throws StoreUnavailable when the read fails and nothing usable is known.
 */
export const createCachedLookup = <Value>({
  find,
  clock,
}: {
  find: (id: string) => Promise<Value | undefined>;
  clock: Clock;
}): ((id: string) => Promise<Value | undefined>) => {
  // Apart, so that a flood of invented keys cannot push real ones out.
  const present = createLruCache<Entry<Value>>(MAX_ENTRIES);
  const absent = createLruCache<Entry<Value>>(MAX_ENTRIES);
  const reading = new Map<string, Promise<Value | undefined>>();

  const keep = (id: string, value: Value | undefined): Value | undefined => {
    const readAt = clock.now();
    const isAbsent = value === undefined;
    (isAbsent ? present : absent).delete(id);
    (isAbsent ? absent : present).set(id, {
      value,
      readAt,
      askAgainAt: readAt + (isAbsent ? ABSENT_FRESH_MS : FRESH_MS),
    });
    return value;
  };

  /** What is known serves on for a while; undefined if it is too old for that. */
  const serveStale = (id: string): Entry<Value> | undefined => {
    const known = present.get(id);
    if (!known || clock.now() - known.readAt >= STALE_MS) return undefined;
    const askAgainAt = Math.min(clock.now() + RETRY_PAUSE_MS, known.readAt + STALE_MS);
    present.set(id, { ...known, askAgainAt });
    return known;
  };

  const read = async (id: string): Promise<Value | undefined> => {
    try {
      return keep(id, await find(id));
    } catch (failure) {
      const stale = failure instanceof StoreUnavailable ? serveStale(id) : undefined;
      if (!stale) throw failure;
      return stale.value;
    } finally {
      reading.delete(id);
    }
  };

  return async (id) => {
    const known = present.get(id) ?? absent.get(id);
    if (known && clock.now() < known.askAgainAt) return known.value;
    const shared = reading.get(id) ?? read(id);
    reading.set(id, shared);
    if (!present.get(id)) return shared;
    const inTime = await withTimeout(clock, PATIENCE_MS, shared);
    if (inTime) return inTime.value;
    const stale = serveStale(id);
    return stale ? stale.value : shared;
  };
};
