import type { MeterStore, ReservedUnit } from '../stores/meter-store.ts';
import type { Clock } from '../support/clock.ts';
import type { Log } from '../support/log.ts';

/** Pauses before the later attempts of a refund, in ms; each attempt itself is bounded by the store. */
const RETRY_PAUSES_MS = [100, 400, 1_600];

/** How a unit ends. Both verbs may be called more than once and never throw. */
export type Settlement = {
  /** Resolves after the first attempt; further ones go on in the background and are awaited by `close`. */
  refund(): Promise<void>;
  close(): Promise<void>;
};

const pause = (clock: Clock, ms: number): Promise<void> =>
  new Promise((resolve) => {
    clock.after(ms, resolve);
  });

export const createSettlement = ({
  store,
  unit,
  clock,
  log,
}: {
  store: Pick<MeterStore, 'refund' | 'close'>;
  unit: ReservedUnit;
  clock: Clock;
  log: Log;
}): Settlement => {
  let retrying = Promise.resolve();

  const succeeds = async (verb: () => Promise<void>): Promise<boolean> => {
    try {
      await verb();
      return true;
    } catch {
      return false;
    }
  };

  const retry = async (): Promise<void> => {
    for (const ms of RETRY_PAUSES_MS) {
      await pause(clock, ms);
      if (await succeeds(() => store.refund(unit))) return;
    }
    const { meterId, requestId, minute, period } = unit;
    // An operator can give the unit back with these; an uncommitted one is reaped anyway.
    log.error('meter_refund_pending', { meterId, requestId, minute, period });
  };

  return {
    refund: async () => {
      if (await succeeds(() => store.refund(unit))) return;
      retrying = retry();
    },
    close: async () => {
      await retrying;
      // The reaper does what a failed close leaves undone.
      await succeeds(() => store.close(unit));
    },
  };
};
