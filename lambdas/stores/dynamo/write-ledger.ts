import { createLruCache } from '../../support/lru-cache.ts';
import type { ReservedUnit } from '../meter-store.ts';
import type { Bindings, ConditionalWrite, Table, WriteResult } from './table.ts';

/** Requests in flight in one process; one that was pushed out keeps its marks for the reaper. */
const MAX_TRACES = 10_000;

/** What this process knows of a request in flight. */
export type LedgerEntry = {
  /** A write of it was sent more than once, so a copy may still land. */
  doubtful: boolean;
  /** Counters of windows that are over, to be removed with this request's last write. */
  outdated: string[];
  /** Its refund was asked for: whatever became of that, it is never to be admitted again. */
  isWithdrawn: boolean;
};

/** Writes for requests in flight. Whether one of them may be applied later again is remembered. */
export type WriteLedger = {
  begin(requestId: string): void;
  traceOf(requestId: string): LedgerEntry | undefined;
  apply(unit: ReservedUnit, write: ConditionalWrite, bind: Bindings): Promise<WriteResult>;
  end(requestId: string): void;
};

/** Remembers in this process's memory only. `apply` throws StoreUnavailable, as the table does. */
export const createWriteLedger = (table: Table): WriteLedger => {
  const traces = createLruCache<LedgerEntry>(MAX_TRACES);
  return {
    begin: (requestId) => {
      if (traces.get(requestId)) return;
      traces.set(requestId, { doubtful: false, outdated: [], isWithdrawn: false });
    },
    traceOf: (requestId) => traces.get(requestId),
    apply: async (unit, write, bind) => {
      const trace = traces.get(unit.requestId);
      const markDoubtful = () => {
        if (trace) trace.doubtful = true;
      };
      try {
        const result = await table.apply(unit.meterId, write, bind);
        if (result.doubtful) markDoubtful();
        return result;
      } catch (error) {
        markDoubtful();
        throw error;
      }
    },
    end: (requestId) => {
      traces.delete(requestId);
    },
  };
};
