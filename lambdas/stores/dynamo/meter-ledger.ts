import { createLruCache } from '../../support/memo.ts';
import type { ReservedUnit } from '../meter-store.ts';
import { asNotSent, StoreThrottled, StoreUnavailable } from '../store-unavailable.ts';
import type { PastCounters } from './meter-item.ts';
import type { Sharding } from './meter-shards.ts';
import type { WriteResult } from './table.ts';

/** Requests in flight in one process; the marks of an evicted one stay for the reaper. */
const MAX_ENTRIES = 10_000;

/** What this process remembers of a request until it is settled. */
export type LedgerEntry = {
  /** Key of the meter's item that holds its mark. */
  key: string;
  /** Its reserve was sent more than once or had no response, so a copy may still be applied. */
  mayBeDuplicated: boolean;
  /** Its reserve was applied or may be; otherwise there is no unit to settle. */
  mayHoldUnit: boolean;
  /** Counters of past windows, to be removed with its last write. */
  past: PastCounters | undefined;
};

/** Sends the reserves of requests and remembers which of them may be applied again later. */
export type WriteLedger = {
  entryOf(requestId: string): LedgerEntry | undefined;
  /** Without an entry a refund assumes that another process reserved the unit; a new entry holds none. */
  begin(requestId: string, key: string): LedgerEntry;
  /** Notes where the mark of a unit was read that another process reserved. */
  found(requestId: string, key: string): void;
  /** Reserves in another item only after one was denied for good. @throws StoreUnavailable */
  reserve<Result extends WriteResult>(
    requestId: string,
    key: string,
    send: () => Promise<Result>,
  ): Promise<Result>;
  end(requestId: string): void;
};

/** Entries are kept in this process's memory only. */
export const createWriteLedger = (): WriteLedger => {
  const entries = createLruCache<LedgerEntry>(MAX_ENTRIES);

  const begin = (requestId: string, key: string): LedgerEntry => {
    const entry = entries.get(requestId) ?? {
      key,
      mayBeDuplicated: false,
      mayHoldUnit: false,
      past: undefined,
    };
    entries.set(requestId, entry);
    return entry;
  };

  return {
    entryOf: (requestId) => entries.get(requestId),
    begin,
    found: (requestId, key) =>
      void Object.assign(begin(requestId, key), { key, mayBeDuplicated: true, mayHoldUnit: true }),
    reserve: async (requestId, key, send) => {
      const entry = begin(requestId, key);
      // A reserve that another item denied leaves no mark there.
      entry.key = key;
      const mayHaveHeld = entry.mayHoldUnit;
      // Until the outcome is known: a refund may overtake this write.
      entry.mayHoldUnit = true;
      const remember = ({ applied, mayBeDuplicated }: Omit<WriteResult, 'item'>) => {
        entry.mayBeDuplicated ||= mayBeDuplicated;
        entry.mayHoldUnit = mayHaveHeld || applied || mayBeDuplicated;
      };
      try {
        const result = await send();
        remember(result);
        return result;
      } catch (error) {
        // A rejected write leaves no mark.
        const mayBeDuplicated = !(error instanceof StoreUnavailable) || error.mayBeApplied;
        remember({ applied: false, mayBeDuplicated });
        throw error;
      }
    },
    end: (requestId) => {
      entries.delete(requestId);
    },
  };
};

const MAX_METERS = 1_000;

/**
 * Requests whose writes were throttled, by meter, within a minute; one that is repeated counts once. The root's loans are
 * not among them: more shards would make it busier.
 */
export const createThrottles = ({ throttledToSpread }: Pick<Sharding, 'throttledToSpread'>) => {
  const meters = createLruCache<{ minute: number; requests: Set<string> }>(MAX_METERS);
  const note = ({ meterId, minute, requestId }: ReservedUnit): void => {
    const last = meters.get(meterId);
    // A unit is settled in a later minute than it was reserved in.
    const current = last && last.minute >= minute ? last : { minute, requests: new Set<string>() };
    if (current.requests.size < throttledToSpread) current.requests.add(requestId);
    meters.set(meterId, current);
  };
  return {
    count: async <Result>(unit: ReservedUnit, write: () => Promise<Result>): Promise<Result> => {
      try {
        return await write();
      } catch (error) {
        if (error instanceof StoreThrottled) note(unit);
        throw error;
      }
    },
    areMany: (meterId: string): boolean =>
      (meters.get(meterId)?.requests.size ?? 0) >= throttledToSpread,
    forget: (meterId: string): void => void meters.delete(meterId),
  };
};

export type Throttles = ReturnType<typeof createThrottles>;

/**
 * Calls of a process that need the same first, like a read of an item: one goes ahead, and those that begin meanwhile wait for it
 * and go together. Those that wait for one that fails are not sent: an outage costs one timeout, not two.
 */
export const createInOrder = () => {
  const ahead = new Map<string, Promise<unknown>>();
  return {
    isAhead: (name: string): boolean => ahead.has(name),
    run: async <Result>(name: string, go: () => Promise<Result>): Promise<Result> => {
      const first = ahead.get(name);
      if (first) {
        await first.catch((error) => {
          throw asNotSent(error);
        });
        return go();
      }
      const going = go().finally(() => ahead.delete(name));
      ahead.set(name, going);
      return going;
    },
  };
};

export type InOrder = ReturnType<typeof createInOrder>;
