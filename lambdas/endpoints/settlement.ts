import type { Admission } from '../metering/admission.ts';
import { type Clock, withTimeout } from '../support/clock.ts';

/**
 * Decides what a response costs. One unit if it finished, or if the client disconnected after the first
 * content. Zero for every failure, for an empty response, and if the client disconnected before the first
 * content.
 */
export type Settlement = {
  /** Call before the first content is sent. @throws ApiError 503 if the unit was reaped */
  commit(): Promise<void>;
  /** Refunds the unit; resolves when it is refunded, so that the caller can retry on its last one. */
  fail(): Promise<void>;
  /** Closes the unit, refunded if it was never committed. Safe after `fail`. */
  end(): Promise<void>;
  /** The same with a timeout of 300 ms, because the caller waits; `end` continues after it. */
  endSoon(): Promise<void>;
  /** Whether the response is free, as far as it is known before its end. */
  isFree(): boolean;
};

/** A close usually takes a few milliseconds. */
const END_TIMEOUT_MS = 300;

/** Settles one unit once. Only `commit` throws. */
export const createSettlement = (
  unit: Pick<Admission, 'commit' | 'refund' | 'close'>,
  clock: Clock,
): Settlement => {
  let state: 'reserved' | 'committed' | 'refunded' = 'reserved';
  const fail = async () => {
    state = 'refunded';
    await unit.refund();
  };
  const end = async () => {
    if (state === 'reserved') await fail();
    await unit.close();
  };
  return {
    commit: async () => {
      await unit.commit();
      state = 'committed';
    },
    fail,
    isFree: () => state === 'refunded',
    end,
    endSoon: async () => {
      await withTimeout(clock, END_TIMEOUT_MS, end());
    },
  };
};
