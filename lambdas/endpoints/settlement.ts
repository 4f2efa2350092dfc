import type { Admission } from '../metering/admission.ts';
import { type Clock, withTimeout } from '../support/clock.ts';

export type Settlement = ReturnType<typeof createSettlement>;

/** Whether a unit is charged; `lost` if the response ended well and the charge could not be written. */
export type Charge = 'charged' | 'free' | 'lost';

/** One attempt of a write; it usually takes a few milliseconds. */
const END_TIMEOUT_MS = 1_000;

/**
 * Decides what a response costs, and settles its unit once. One unit if it finished, or if the client disconnected after the
 * first content. Zero for every failure, for an empty response, and if the client disconnected before the first content. No
 * verb throws.
 */
export const createSettlement = (
  unit: Pick<Admission, 'charge' | 'refund' | 'finished'>,
  clock: Clock,
  /** Called at the end, and again if the charge is lost; awaited with the close. Never throws. */
  onEnd: (charge: Charge) => Promise<void> = async () => {},
) => {
  let state: 'reserved' | 'delivered' | 'charged' | 'refunded' = 'reserved';
  let isEmpty = false;
  /** Refunds the unit of a failure. Resolves when it is refunded, so that the caller can retry on its last one. */
  const fail = async (): Promise<void> => {
    isEmpty = false;
    if (state === 'refunded' || state === 'charged') return;
    state = 'refunded';
    await unit.refund();
  };
  /** Charges the unit, or refunds it if no content was delivered. Safe after `fail`. */
  const end = async (): Promise<void> => {
    if (state === 'charged') return unit.finished();
    const ended = onEnd(state === 'delivered' ? 'charged' : 'free');
    if (state === 'delivered') {
      state = 'charged';
      if (!(await unit.charge())) await onEnd('lost');
    } else await fail();
    await unit.finished();
    await ended;
  };
  return {
    /** Call before the first content is sent: from here on the end charges the unit. */
    deliver: (): void => {
      state = 'delivered';
    },
    fail,
    /** As `fail`, for an empty response, before it ends. */
    deliverEmpty: (): Promise<void> => {
      const refunded = fail();
      isEmpty = true;
      return refunded;
    },
    /** Whether the response is free because it is empty. */
    isEmpty: (): boolean => isEmpty,
    /** Whether it is free, as far as it is known before its end. */
    isFree: (): boolean => state === 'refunded',
    end,
    /** As `end` with a timeout of 1 s, because the caller waits; it continues after that. */
    endSoon: async (): Promise<void> => {
      await withTimeout(clock, END_TIMEOUT_MS, end());
    },
  };
};
