import type { MeterStore, ReservedUnit } from '../stores/meter-store.ts';
import { type Clock, pause, withTimeout } from '../support/clock.ts';
import type { Log } from '../support/log.ts';

/** Pauses before the retries of a refund, in ms; the store bounds the time of each attempt. */
const RETRY_PAUSES_MS = [100, 400, 1_600];

/**
 * How long a response waits for the refund, in ms: one whole attempt, or 300 ms if the table has just failed
 * another write of the same request. The 503 is then sent within 4 s.
 */
const REFUND_TIMEOUT_MS = { 'whole-attempt': 3_500, short: 300 };
export type RefundTimeout = keyof typeof REFUND_TIMEOUT_MS;

/** Ends one unit. Both verbs may be repeated and never throw. */
export type UnitRelease = {
  /** Resolves when the unit is refunded or on timeout; retries continue, and `close` awaits them. */
  refund(timeout: RefundTimeout): Promise<void>;
  close(): Promise<void>;
};

const succeeds = async (verb: () => Promise<void>): Promise<boolean> => {
  try {
    await verb();
    return true;
  } catch {
    return false;
  }
};

/**
 * Refunds and closes the unit of one request. A refund that fails is retried after the response, and logged
 * with the ids that an operator needs to refund the unit manually.
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
  /** Enough for an operator to refund the unit; an uncommitted one is reaped regardless. */
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
    refund: async (timeout) => {
      const first = succeeds(() => store.refund(unit));
      let isLate = false;
      retrying = first.then((isWritten) => {
        if (!isWritten) return retry();
        if (isLate) log.info('meter_refund_written', ids);
        return undefined;
      });
      if ((await withTimeout(clock, REFUND_TIMEOUT_MS[timeout], first))?.value) return;
      // Logged now, because a frozen or killed process cannot log the result of its retries.
      isLate = true;
      log.warn('meter_refund_late', ids);
    },
    close: async () => {
      await retrying;
      // The reaper removes the marks if this fails.
      await succeeds(() => store.close(unit));
    },
  };
};
