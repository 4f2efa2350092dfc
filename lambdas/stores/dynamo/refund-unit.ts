import type { MeterStore, ReservedUnit } from '../meter-store.ts';
import { StoreUnavailable } from '../store-unavailable.ts';
import { bindForgotten, bindUnit } from './meter-bindings.ts';
import { REFUND, refundAndForget, TOMBSTONE } from './meter-writes.ts';
import type { LedgerEntry, WriteLedger } from './write-ledger.ts';

/** Copies of a reserve that come between two writes of its refund; more of them than this are no accident. */
const MAX_TRIES = 8;

/** Gives a unit back, so that no copy of its reserve can take it again. */
export const createRefundUnit = ({ apply, traceOf }: WriteLedger): MeterStore['refund'] => {
  const refundForGood = async (unit: ReservedUnit, trace: LedgerEntry): Promise<void> => {
    const { names, values } = bindUnit(unit);
    const outdated = bindForgotten(trace.outdated);
    const write = refundAndForget(Object.keys(outdated));
    // Whether it was applied is all the same: if not, the unit was refunded or reaped before.
    await apply(unit, write, { names: { ...names, ...outdated }, values });
    trace.outdated = [];
  };

  return async (unit) => {
    const trace = traceOf(unit.requestId);
    if (trace) trace.isWithdrawn = true;
    if (trace?.doubtful === false) return refundForGood(unit, trace);
    const bind = bindUnit(unit);
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      if ((await apply(unit, REFUND, bind)).applied) return;
      if ((await apply(unit, TOMBSTONE, bind)).applied) return;
      // A late copy of the reserve came between the two.
    }
    throw new StoreUnavailable('The refund was overtaken again and again.');
  };
};
