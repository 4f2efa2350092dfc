import { createLruCache } from '../../support/lru-cache.ts';
import type { ReservedUnit } from '../meter-store.ts';
import { StoreUnavailable } from '../store-unavailable.ts';
import type { Bindings, ConditionalWrite, Table, WriteResult } from './table.ts';

/** Requests in flight in one process; the marks of an evicted one stay for the reaper. */
const MAX_ENTRIES = 10_000;

/** What this process remembers of a request in flight. */
export type LedgerEntry = {
  /** One of its writes was sent more than once or had no response, so a copy may still be applied. */
  mayBeDuplicated: boolean;
  /** Its reserve was applied or may be; otherwise there is nothing to refund. */
  mayHoldUnit: boolean;
  /** Names of counters of past windows, to be removed with this request's last write. */
  expiredCounters: string[];
  /** Its refund was requested: whether or not that was applied, the request can never be admitted again. */
  isRefunded: boolean;
};

/** Sends the writes of requests in flight and remembers which of them may be applied again later. */
export type WriteLedger = {
  begin(requestId: string): void;
  entryOf(requestId: string): LedgerEntry | undefined;
  /** @throws StoreUnavailable */
  apply(unit: ReservedUnit, write: ConditionalWrite, bindings: Bindings): Promise<WriteResult>;
  end(requestId: string): void;
};

/** Entries are kept in this process's memory only. */
export const createWriteLedger = (table: Table): WriteLedger => {
  const entries = createLruCache<LedgerEntry>(MAX_ENTRIES);
  return {
    begin: (requestId) => {
      if (entries.get(requestId)) return;
      entries.set(requestId, {
        mayBeDuplicated: false,
        mayHoldUnit: false,
        expiredCounters: [],
        isRefunded: false,
      });
    },
    entryOf: (requestId) => entries.get(requestId),
    apply: async (unit, write, bindings) => {
      const entry = entries.get(unit.requestId);
      const mayHaveHeld = entry?.mayHoldUnit ?? true;
      // Until the outcome is known: a refund may overtake this write.
      if (entry) entry.mayHoldUnit = true;
      const remember = ({ applied, mayBeDuplicated }: Omit<WriteResult, 'item'>) => {
        if (!entry) return;
        entry.mayBeDuplicated ||= mayBeDuplicated;
        entry.mayHoldUnit = mayHaveHeld || applied || mayBeDuplicated;
      };
      try {
        const result = await table.apply(unit.meterId, write, bindings);
        remember(result);
        return result;
      } catch (error) {
        // A refused write leaves nothing behind.
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
