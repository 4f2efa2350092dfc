import type { MeterStore, ReservedUnit } from '../stores/meter-store.ts';
import { type Clock, pause, withTimeout } from '../support/clock.ts';
import type { Log } from '../support/log.ts';

/** Pauses before the retries of a settlement, in ms; the store bounds the time of each attempt. */
const RETRY_PAUSES_MS = [100, 400, 1_600];

/**
 * How long a response waits for the refund, in ms: one whole attempt, or 300 ms if the table has just failed
 * another write of the same request. The 503 is then sent within 4 s.
 */
const REFUND_TIMEOUT_MS = { 'whole-attempt': 3_500, short: 300 };
export type RefundTimeout = keyof typeof REFUND_TIMEOUT_MS;

/** Settles one unit; called once. No verb throws. */
export type UnitRelease = {
  /** Resolves when the charge is written, or logged after its last retry. */
  charge(): Promise<void>;
  /** Resolves when the unit is refunded or on timeout; retries continue, and `finished` awaits them. */
  refund(timeout: RefundTimeout): Promise<void>;
  finished(): Promise<void>;
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
 * Settles the unit of one request. A write that fails is retried after the response; if the last retry fails
 * too, the reaper refunds the unit.
 */
export const createUnitRelease = ({
  store,
  unit,
  clock,
  log,
}: {
  store: Pick<MeterStore, 'charge' | 'refund'>;
  unit: ReservedUnit;
  clock: Clock;
  log: Log;
}): UnitRelease => {
  const { meterId, requestId, minute, period } = unit;
  const ids = { meterId, requestId, minute, period };
  let retrying = Promise.resolve();

  const retry = async (write: () => Promise<void>): Promise<boolean> => {
    for (const ms of RETRY_PAUSES_MS) {
      await pause(clock, ms);
      if (await succeeds(write)) return true;
    }
    return false;
  };

  const charge = () => store.charge(unit);
  const refund = () => store.refund(unit);

  return {
    charge: async () => {
      if ((await succeeds(charge)) || (await retry(charge))) return;
      log.error('meter_charge_pending', ids);
    },
    refund: async (timeout) => {
      const first = succeeds(refund);
      let isLate = false;
      retrying = first.then(async (isWritten) => {
        if (isWritten && !isLate) return;
        if (isWritten || (await retry(refund))) log.info('meter_refund_written', ids);
        else log.error('meter_refund_pending', ids);
      });
      if ((await withTimeout(clock, REFUND_TIMEOUT_MS[timeout], first))?.value) return;
      // Logged now, because a frozen or killed process cannot log the result of its retries.
      isLate = true;
      log.warn('meter_refund_late', ids);
    },
    finished: () => retrying,
  };
};
