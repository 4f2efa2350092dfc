import type { MeterStore, ReservedUnit } from '../stores/meter-store.ts';
import type { Clock } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import { withTimeout } from '../support/with-timeout.ts';

/** Pauses before the later attempts of a refund, in ms; each attempt itself is bounded by the store. */
const RETRY_PAUSES_MS = [100, 400, 1_600];

/**
 * How long a caller waits for the refund, in ms: one whole attempt, or only a moment if the table has just
 * failed another write of the same request. The 503 then comes within 4 s.
 */
const PATIENCE_MS = { 'whole-attempt': 3_500, short: 300 };
export type Patience = keyof typeof PATIENCE_MS;

/** How a unit ends. Both verbs may be called more than once and never throw. */
export type UnitRelease = {
  /** Resolves when the unit is back or patience is over; attempts go on and are awaited by `close`. */
  refund(patience: Patience): Promise<void>;
  close(): Promise<void>;
};

const pause = (clock: Clock, ms: number): Promise<void> =>
  new Promise((resolve) => {
    clock.after(ms, resolve);
  });

const succeeds = async (verb: () => Promise<void>): Promise<boolean> => {
  try {
    await verb();
    return true;
  } catch {
    return false;
  }
};

/**
 * Ends one unit once its request has failed or finished. A refund that the table does not take is tried again
 * behind the caller, and logged with what an operator needs to give the unit back by hand.
 */
export const createUnitRelease = ({
  store,
  unit,
  clock,
  log,
}: {
  store: Pick<MeterStore, 'refund' | 'close'>;
  unit: ReservedUnit;
  clock: Clock;
  log: Log;
}): UnitRelease => {
  const { meterId, requestId, minute, period } = unit;
  /** An operator can give the unit back with these; an uncommitted one is reaped anyway. */
  const ids = { meterId, requestId, minute, period };
  let retrying = Promise.resolve();

  const retry = async (): Promise<void> => {
    for (const ms of RETRY_PAUSES_MS) {
      await pause(clock, ms);
      if (await succeeds(() => store.refund(unit))) {
        log.info('meter_refund_written', ids);
        return;
      }
    }
    log.error('meter_refund_pending', ids);
  };

  return {
    refund: async (patience) => {
      const first = succeeds(() => store.refund(unit));
      retrying = first.then((isWritten) => (isWritten ? undefined : retry()));
      if ((await withTimeout(clock, PATIENCE_MS[patience], first))?.value) return;
      // Now, because a frozen or killed process does not get to say how it went on.
      log.warn('meter_refund_late', ids);
    },
    close: async () => {
      await retrying;
      // The reaper does what a failed close leaves undone.
      await succeeds(() => store.close(unit));
    },
  };
};
