import { createLruCache } from '../../support/lru-cache.ts';
import type { Reservation } from '../meter-store.ts';
import { StoreUnavailable } from '../store-unavailable.ts';
import type { PastCounters } from './meter-item.ts';
import { bindReservation, RESERVE } from './meter-writes.ts';
import type { Table, WriteResult } from './table.ts';

/** Requests in flight in one process; the marks of an evicted one stay for the reaper. */
const MAX_ENTRIES = 10_000;

/** What this process remembers of a request until it is settled. */
export type LedgerEntry = {
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
  /** @throws StoreUnavailable */
  reserve(reservation: Reservation): Promise<WriteResult>;
  end(requestId: string): void;
};

/** Entries are kept in this process's memory only. */
export const createWriteLedger = (table: Table): WriteLedger => {
  const entries = createLruCache<LedgerEntry>(MAX_ENTRIES);

  const begin = (requestId: string): LedgerEntry => {
    const entry = entries.get(requestId) ?? {
      mayBeDuplicated: false,
      mayHoldUnit: false,
      past: undefined,
    };
    entries.set(requestId, entry);
    return entry;
  };

  return {
    entryOf: (requestId) => entries.get(requestId),
    reserve: async (reservation) => {
      const entry = begin(reservation.requestId);
      const mayHaveHeld = entry.mayHoldUnit;
      // Until the outcome is known: a refund may overtake this write.
      entry.mayHoldUnit = true;
      const remember = ({ applied, mayBeDuplicated }: Omit<WriteResult, 'item'>) => {
        entry.mayBeDuplicated ||= mayBeDuplicated;
        entry.mayHoldUnit = mayHaveHeld || applied || mayBeDuplicated;
      };
      try {
        const bindings = bindReservation(reservation);
        const result = await table.apply(reservation.meterId, RESERVE, bindings);
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
