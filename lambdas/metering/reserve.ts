import type { MeterStore, Reservation, ReserveResult } from '../stores/meter-store.ts';
import type { Reaper } from './reaper.ts';
import type { Settlement } from './settlement.ts';

/** Takes one unit, or says why there is none. @throws StoreUnavailable, with the unit given back */
export type Reserve = (reservation: Reservation, settlement: Settlement) => Promise<ReserveResult>;

export const createReserve = ({
  store,
  reaper,
}: {
  store: Pick<MeterStore, 'reserve'>;
  reaper: Reaper;
}): Reserve => {
  const reserve = async (reservation: Reservation): Promise<ReserveResult> => {
    const result = await store.reserve(reservation);
    if (result.outcome !== 'quota-exhausted' || !result.leftovers) return result;
    // Units of dead processes fill the quota: nobody may be refused for them.
    const refunded = await reaper.reap(reservation);
    return refunded > 0 ? store.reserve(reservation) : result;
  };
  return async (reservation, settlement) => {
    try {
      return await reserve(reservation);
    } catch (error) {
      // The write may have been applied, or may still be: give back what nobody will use.
      await settlement.refund('silent');
      // A process that is frozen after its answer goes on when it is woken; else the unit is reaped.
      void settlement.close();
      throw error;
    }
  };
};
