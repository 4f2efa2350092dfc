import type { MeterStore, Reservation } from '../stores/meter-store.ts';
import { mapStoreErrors, meterUnavailable } from './limit-errors.ts';
import type { Limits } from './limit-headers.ts';
import type { Patience, UnitRelease } from './unit-release.ts';

/** One reserved unit. Whoever holds it calls `close` at the end, after `commit` or `refund`. */
export type Admission = {
  /** As they stand with this request counted. */
  limits: Limits;
  /** Makes the charge stick; before the first content byte. @throws ApiError 503 when it may not be sent. */
  commit(): Promise<void>;
  /** Gives the unit back; before the error is sent. Never throws: what cannot be written is retried, then logged. */
  refund(): Promise<void>;
  /** Never throws. */
  close(): Promise<void>;
};

/** The unit of a reservation that was taken; `onRefund` runs when it may be back. */
export const createAdmission = (parts: {
  store: Pick<MeterStore, 'commit'>;
  reservation: Reservation;
  limits: Limits;
  release: UnitRelease;
  /** What goes on beside the request and has to end with it. */
  reaping: Promise<unknown> | undefined;
  onRefund(): void;
}): Admission => {
  const { store, reservation, limits, release, reaping, onRefund } = parts;
  let patience: Patience = 'whole-attempt';
  const commit = async (): Promise<boolean> => {
    try {
      return await store.commit(reservation);
    } catch (error) {
      patience = 'short';
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
      await release.refund(patience);
      onRefund();
    },
    close: async () => {
      await reaping;
      await release.close();
    },
  };
};
