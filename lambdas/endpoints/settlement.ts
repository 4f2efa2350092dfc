import type { Admission } from '../metering/admission.ts';
import type { Clock } from '../support/clock.ts';
import { withTimeout } from '../support/with-timeout.ts';

/**
 * The rule of what an answer costs. One unit: it finished, or the caller left after its first content.
 * Nothing: every failure, and a caller who left before any content.
 */
export type Settlement = {
  /** Before the first content leaves. @throws ApiError 503 when the unit is gone. */
  commit(): Promise<void>;
  /** The answer failed. Resolves once the unit is back, so that the caller may retry on its last one. */
  fail(): Promise<void>;
  /** The answer is over, however it went. Safe after `fail`. */
  end(): Promise<void>;
  /** The same while a caller waits for the answer: it goes on behind them if the table is in trouble. */
  endSoon(): Promise<void>;
};

/** A close takes a few milliseconds. */
const END_PATIENCE_MS = 300;

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
    end,
    endSoon: async () => {
      await withTimeout(clock, END_PATIENCE_MS, end());
    },
  };
};
