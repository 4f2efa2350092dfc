import type { MeterStore, Reservation, ReserveResult } from '../stores/meter-store.ts';
import type { Reaper } from './reaper.ts';
import type { UnitRelease } from './unit-release.ts';

/** Takes one unit, or says why there is none. @throws StoreUnavailable, with the unit given back */
export type Reserve = (reservation: Reservation, release: UnitRelease) => Promise<ReserveResult>;

/** A reservation that fails gives back whatever may have been taken, before the caller hears of it. */
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
  return async (reservation, release) => {
    try {
      return await reserve(reservation);
    } catch (error) {
      // The write may have been applied, or may still be: give back what nobody will use.
      await release.refund('short');
      // Not awaited: if Lambda freezes the process, the close runs when it is thawed; otherwise the reaper
      // does its work.
      void release.close();
      throw error;
    }
  };
};
