import type { Admission } from '../metering/admission.ts';

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
};

export const createSettlement = (admission: Admission): Settlement => {
  let state: 'reserved' | 'committed' | 'refunded' = 'reserved';
  const fail = async () => {
    state = 'refunded';
    await admission.refund();
  };
  return {
    commit: async () => {
      await admission.commit();
      state = 'committed';
    },
    fail,
    end: async () => {
      if (state === 'reserved') await fail();
      await admission.close();
    },
  };
};
