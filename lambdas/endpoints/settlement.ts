import type { Admission } from '../metering/admission.ts';
import { type Clock, withTimeout } from '../support/clock.ts';

/**
 * Decides what a response costs. One unit if it finished, or if the client disconnected after the first
 * content. Zero for every failure, for an empty response, and if the client disconnected before the first
 * content.
 */
export type Settlement = {
  /** Call before the first content is sent: from here on the end charges the unit. */
  deliver(): void;
  /** Refunds the unit of a failure. Resolves when it is refunded, so that the caller can retry on its last one. */
  fail(): Promise<void>;
  /** The same for an empty response, before it ends. */
  deliverEmpty(): Promise<void>;
  /** Charges the unit, or refunds it if no content was delivered. Safe after `fail`. */
  end(): Promise<void>;
  /** The same with a timeout of 1 s, because the caller waits; `end` continues after it. */
  endSoon(): Promise<void>;
  /** Whether the response is free, as far as it is known before its end. */
  isFree(): boolean;
  /** Whether it is free because it is empty. */
  isEmpty(): boolean;
};

/** Whether a unit is charged; `lost` if the response ended well and the charge could not be written. */
export type Charge = 'charged' | 'free' | 'lost';

/** One attempt of a write; it usually takes a few milliseconds. */
const END_TIMEOUT_MS = 1_000;

/** Settles one unit once. No verb throws. */
export const createSettlement = (
  unit: Pick<Admission, 'charge' | 'refund' | 'finished'>,
  clock: Clock,
  /** Called at the end, and again if the charge is lost; awaited with the close. Never throws. */
  onEnd: (charge: Charge) => Promise<void> = async () => {},
): Settlement => {
  let state: 'reserved' | 'delivered' | 'charged' | 'refunded' = 'reserved';
  let isEmpty = false;
  const fail = async () => {
    isEmpty = false;
    if (state === 'refunded' || state === 'charged') return;
    state = 'refunded';
    await unit.refund();
  };
  const end = async () => {
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
    deliver: () => {
      state = 'delivered';
    },
    fail,
    deliverEmpty: () => {
      const refunded = fail();
      isEmpty = true;
      return refunded;
    },
    isEmpty: () => isEmpty,
    isFree: () => state === 'refunded',
    end,
    endSoon: async () => {
      await withTimeout(clock, END_TIMEOUT_MS, end());
    },
  };
};
