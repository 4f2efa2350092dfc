import type { MeterStore, Reservation, ReserveResult } from '../meter-store.ts';
import { StoreUnavailable } from '../store-unavailable.ts';
import { bindReservation } from './meter-bindings.ts';
import { expiredCounters, hasStaleMarks } from './meter-item.ts';
import { countsIn, outcomeIn } from './meter-outcome.ts';
import { RESERVE } from './meter-writes.ts';
import type { Item, Table } from './table.ts';
import type { WriteLedger } from './write-ledger.ts';

/** A refusal whose reason had gone by the time it was read is tried again, so that no label is guessed. */
const MAX_TRIES = 8;

/** Takes a unit of the minute and of the period in one conditional write, or reads why there is none. */
export const createReserveUnit = ({
  table,
  writes,
  refund,
}: {
  table: Table;
  writes: WriteLedger;
  refund: MeterStore['refund'];
}): MeterStore['reserve'] => {
  const tryReserve = async (reservation: Reservation): Promise<ReserveResult | undefined> => {
    const result = await writes.apply(reservation, RESERVE, bindReservation(reservation));
    const item = result.item ?? (await table.read(reservation.meterId));
    const outcome = result.applied ? 'admitted' : outcomeIn(item, reservation);
    if (!outcome) return undefined;
    const leftovers = hasStaleMarks(item, reservation.now);
    if (outcome === 'admitted') {
      const trace = writes.traceOf(reservation.requestId);
      if (trace && item) trace.outdated = expiredCounters(item, reservation.now);
    }
    return { outcome, ...countsIn(item, reservation), leftovers };
  };

  /** A refusal that takes no write. */
  const refuse = async (
    reservation: Reservation,
    outcomeOf: (item: Item | undefined) => ReserveResult['outcome'],
  ): Promise<ReserveResult> => {
    const item = await table.read(reservation.meterId);
    return { outcome: outcomeOf(item), ...countsIn(item, reservation), leftovers: false };
  };

  const endRefused = async (reservation: Reservation): Promise<void> => {
    // A copy of the refused write may still be on its way, and find room.
    if (writes.traceOf(reservation.requestId)?.doubtful !== false) await refund(reservation);
    writes.end(reservation.requestId);
  };

  return async (reservation) => {
    const { requestId, quota, rpm } = reservation;
    if (writes.traceOf(requestId)?.isWithdrawn) return refuse(reservation, () => 'withdrawn');
    // A limit of zero cannot be told from a counter that is not there yet in a condition.
    if (quota < 1 || rpm < 1) {
      return refuse(reservation, (item) => outcomeIn(item, reservation) ?? 'rate-limited');
    }
    writes.begin(requestId);
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const result = await tryReserve(reservation);
      if (!result) continue;
      if (result.outcome !== 'admitted') await endRefused(reservation);
      return result;
    }
    throw new StoreUnavailable('The meter changed faster than it could be read.');
  };
};
