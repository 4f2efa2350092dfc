import type { MeterStore, Reservation, ReserveResult } from '../stores/meter-store.ts';
import { mapStoreErrors, meterUnavailable } from './limit-errors.ts';
import type { Limits } from './limit-headers.ts';
import type { Reaper } from './reaper.ts';
import type { RefundTimeout, UnitRelease } from './unit-release.ts';

/** One reserved unit. Its holder calls `commit` or `refund`, then `close`. */
export type Admission = {
  /** Include this request. */
  limits: Limits;
  /** Charges the unit; before the first content is sent. @throws ApiError 503: the response must not be sent */
  commit(): Promise<void>;
  /** Refunds the unit; before the error is sent. Never throws: a failed write is retried, then logged. */
  refund(): Promise<void>;
  /** Never throws. */
  close(): Promise<void>;
};

/** Reserves one unit. @throws StoreUnavailable after a refund of what may have been reserved */
export type Reserve = (reservation: Reservation, release: UnitRelease) => Promise<ReserveResult>;

export const createReserve = ({
  store,
  reaper,
}: {
  store: Pick<MeterStore, 'reserve'>;
  reaper: Reaper;
}): Reserve => {
  const reserve = async (reservation: Reservation): Promise<ReserveResult> => {
    const result = await store.reserve(reservation);
    if (result.outcome !== 'quota-exhausted' || !result.hasStaleMarks) return result;
    // Units of dead processes fill the quota: refund them before denying a request because of them.
    const refunded = await reaper.reap(reservation);
    return refunded > 0 ? store.reserve(reservation) : result;
  };
  return async (reservation, release) => {
    try {
      return await reserve(reservation);
    } catch (error) {
      // The write may have been applied, or may be later, and no request will use the unit.
      await release.refund('short');
      // Not awaited: if Lambda freezes the process, the close continues after the thaw; otherwise the reaper
      // removes the marks.
      void release.close();
      throw error;
    }
  };
};

/** The `Admission` of a reserved unit; `onRefund` runs once its refund was attempted. */
export const createAdmission = (parts: {
  store: Pick<MeterStore, 'commit'>;
  reservation: Reservation;
  limits: Limits;
  release: UnitRelease;
  /** Runs concurrently with the request; `close` awaits it. */
  reaping: Promise<unknown> | undefined;
  onRefund(): void;
}): Admission => {
  const { store, reservation, limits, release, reaping, onRefund } = parts;
  let refundTimeout: RefundTimeout = 'whole-attempt';
  const commit = async (): Promise<boolean> => {
    try {
      return await store.commit(reservation);
    } catch (error) {
      refundTimeout = 'short';
      throw error;
    }
  };
  return {
    limits,
    commit: async () => {
      if (await mapStoreErrors(commit)) return;
      throw meterUnavailable(new Error('The unit was reaped before its commit.'));
    },
    refund: async () => {
      await release.refund(refundTimeout);
      onRefund();
    },
    close: async () => {
      await reaping;
      await release.close();
    },
  };
};
