import { LONGEST_READ_MS, StoreUnavailable, UnreadableItem } from '../stores/store-unavailable.ts';
import { type Clock, withTimeout } from '../support/clock.ts';
import { createLruCache } from '../support/memo.ts';

/** Age at which an entry is read again; with the time of the read, a revocation applies within 15 s. */
const FRESH_MS = 10_000;
/** Shorter for misses: a key that was looked up before it existed works at most this much later. */
const ABSENT_FRESH_MS = 5_000;
/** Maximum age of an entry that is served while the table fails. */
const STALE_MS = 10 * 60_000;
/** Interval between reads while the table fails, because each failing read may take 3 s. */
const RETRY_PAUSE_MS = 5_000;
/**
 * Timeout of a read while a stale entry is available. The read continues, and the next request uses its result.
 */
const STALE_READ_TIMEOUT_MS = 250;
const MAX_ENTRIES = 1_000;

type Reading<Value> = { since: number; value: Promise<Value | undefined> };
type Entry<Value> = { value: Value | undefined; readAt: number; refreshAt: number };

export type CachedLookup<Value> = {
  find(id: string): Promise<Value | undefined>;
  /** Whether an earlier read found the value, or lately found none: the next needs no read to be answered. */
  isCached(id: string): boolean;
  /** The value that an earlier read found, however old; `isDue`: `find` reads it again. */
  peek(id: string): { value: Value; isDue: boolean } | undefined;
};

/**
 * Read-through cache of one environment. Concurrent lookups of an id share one read.
 * @throws StoreUnavailable if the read fails and no entry under 10 minutes old is cached
 */
export const createCachedLookup = <Value>({
  find,
  clock,
  freshMs = FRESH_MS,
}: {
  find: (id: string) => Promise<Value | undefined>;
  clock: Clock;
  freshMs?: number;
}): CachedLookup<Value> => {
  // Separate caches, so that a flood of invalid keys cannot evict valid ones.
  const present = createLruCache<Entry<Value>>(MAX_ENTRIES);
  const absent = createLruCache<Entry<Value>>(MAX_ENTRIES);
  const reading = new Map<string, Reading<Value>>();

  /** An entry of an instant to come is older than the clock, which was set back. */
  const isFresh = ({ readAt, refreshAt }: Entry<Value>): boolean =>
    readAt <= clock.now() && clock.now() < refreshAt;

  /** Dates the value by the start of its read, unless a later read was faster. */
  const keep = (id: string, value: Value | undefined, readAt: number): Value | undefined => {
    const known = present.get(id) ?? absent.get(id);
    if (known && known.readAt > readAt && known.readAt <= clock.now()) return known.value;
    const isAbsent = value === undefined;
    (isAbsent ? present : absent).delete(id);
    (isAbsent ? absent : present).set(id, {
      value,
      readAt,
      refreshAt: readAt + (isAbsent ? ABSENT_FRESH_MS : freshMs),
    });
    return value;
  };

  /** The cached entry, kept for another 5 s; undefined if it is older than 10 minutes. */
  const serveStale = (id: string): Entry<Value> | undefined => {
    const entry = present.get(id);
    if (!entry || clock.now() - entry.readAt >= STALE_MS) return undefined;
    const refreshAt = Math.min(clock.now() + RETRY_PAUSE_MS, entry.readAt + STALE_MS);
    present.set(id, { ...entry, refreshAt });
    return entry;
  };

  const read = async (id: string, since: number): Promise<Value | undefined> => {
    try {
      return keep(id, await find(id), since);
    } catch (error) {
      // What it permitted before is over.
      if (error instanceof UnreadableItem) present.delete(id);
      const stale = error instanceof StoreUnavailable ? serveStale(id) : undefined;
      if (!stale) throw error;
      return stale.value;
    } finally {
      if (reading.get(id)?.since === since) reading.delete(id);
    }
  };

  /** The read in flight, or a new one. */
  const shareRead = (id: string): Promise<Value | undefined> => {
    const since = clock.now();
    const current = reading.get(id);
    if (current && since - current.since < LONGEST_READ_MS) return current.value;
    const value = read(id, since);
    reading.set(id, { since, value });
    return value;
  };

  const lookUp: CachedLookup<Value>['find'] = async (id) => {
    const cached = present.get(id) ?? absent.get(id);
    if (cached && isFresh(cached)) return cached.value;
    const shared = shareRead(id);
    if (!present.get(id)) return shared;
    const fresh = await withTimeout(clock, STALE_READ_TIMEOUT_MS, shared);
    if (fresh) return fresh.value;
    const stale = serveStale(id);
    return stale ? stale.value : shared;
  };

  return {
    find: lookUp,
    peek: (id) => {
      const entry = present.get(id);
      if (entry?.value === undefined) return undefined;
      return { value: entry.value, isDue: !isFresh(entry) };
    },
    isCached: (id) => {
      if (present.get(id)) return true;
      const entry = absent.get(id);
      return entry !== undefined && isFresh(entry);
    },
  };
};
