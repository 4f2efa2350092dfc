import type {
  MeterStore,
  Reservation,
  ReservedUnit,
  ReserveResult,
} from '../stores/meter-store.ts';
import type { Limits } from './limit-headers.ts';
import type { Reaper } from './reaper.ts';
import type { UnitRelease } from './unit-release.ts';

/** One reserved unit. Its holder settles it once, with `charge` or `refund`, then awaits `finished`. */
export type Admission = Omit<UnitRelease, 'refund'> & {
  unit: ReservedUnit;
  /** Include this request. */
  limits: Limits;
  /** Before the error is sent. */
  refund(): Promise<void>;
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
    const { outcome, hasStaleMarks } = result;
    if (!hasStaleMarks || (outcome !== 'quota-reserved' && outcome !== 'concurrency-reached')) {
      return result;
    }
    // Units of dead processes fill the plan: refund them before denying a request because of them.
    const refunded = await reaper.reap(reservation);
    return refunded > 0 ? store.reserve(reservation) : result;
  };
  return async (reservation, release) => {
    try {
      return await reserve(reservation);
    } catch (error) {
      // The write may have been applied, or may be later, and no request will use the unit.
      await release.refund('short');
      throw error;
    }
  };
};

/** The `Admission` of a reserved unit; `onRefund` runs once its refund was attempted. */
export const createAdmission = (parts: {
  unit: ReservedUnit;
  limits: Limits;
  release: UnitRelease;
  /** Runs concurrently with the request; `finished` awaits it. */
  reaping: Promise<unknown> | undefined;
  onRefund(): void;
}): Admission => {
  const { unit, limits, release, reaping, onRefund } = parts;
  return {
    unit,
    limits,
    charge: release.charge,
    refund: async () => {
      await release.refund('whole-attempt');
      onRefund();
    },
    finished: async () => {
      await reaping;
      await release.finished();
    },
  };
};
