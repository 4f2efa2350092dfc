import type {
  MeterStore,
  Reservation,
  ReservedUnit,
  ReserveResult,
} from '../stores/meter-store.ts';
import { type Clock, pause, withTimeout } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import type { Limits } from './limits.ts';
import type { Reaper } from './quota-usage.ts';

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
  /** Whether the charge is written; if not, its last retry failed too, and the reaper refunds the unit. */
  charge(): Promise<boolean>;
  /** Resolves when the unit is refunded or on timeout; retries continue, and `finished` awaits them. */
  refund(timeout: RefundTimeout): Promise<void>;
  /** The same, with the place in the minute: no one has served the request. */
  withdraw(): Promise<void>;
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
  store: Pick<MeterStore, 'charge' | 'refund' | 'withdraw'>;
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

  const release = async (write: () => Promise<void>, timeout: RefundTimeout): Promise<void> => {
    const first = succeeds(write);
    let isLate = false;
    retrying = first.then(async (isWritten) => {
      if (isWritten && !isLate) return;
      if (isWritten || (await retry(write))) log.info('meter_refund_written', ids);
      else log.error('meter_refund_pending', ids);
    });
    if ((await withTimeout(clock, REFUND_TIMEOUT_MS[timeout], first))?.value) return;
    // Logged now, because a frozen or killed process cannot log the result of its retries.
    isLate = true;
    log.warn('meter_refund_late', ids);
  };

  return {
    charge: async () => {
      if ((await succeeds(charge)) || (await retry(charge))) return true;
      log.error('meter_charge_pending', ids);
      return false;
    },
    refund: (timeout) => release(() => store.refund(unit), timeout),
    withdraw: () => release(() => store.withdraw(unit), 'whole-attempt'),
    finished: () => retrying,
  };
};

/** One reserved unit. Its holder settles it once, with `charge` or `refund`, then awaits `finished`. */
export type Admission = Omit<UnitRelease, 'refund'> & {
  unit: ReservedUnit;
  /** Include this request. */
  limits: Limits;
  /** Before the error is sent. */
  refund(): Promise<void>;
};

/**
 * Reserves one unit. Undefined if a sharded meter has to wait for limits that are being read.
 * @throws StoreUnavailable after a refund of what may have been reserved
 */
export type Reserve = (
  reservation: Reservation,
  release: UnitRelease,
  isConfirmed: boolean,
) => Promise<ReserveResult | undefined>;

export const createReserve = ({
  store,
  reaper,
}: {
  store: Pick<MeterStore, 'reserve' | 'reserveUnconfirmed'>;
  reaper: Reaper;
}): Reserve => {
  const reserve = async (reservation: Reservation, send: MeterStore['reserveUnconfirmed']) => {
    const result = await send(reservation);
    if (!result) return undefined;
    const { outcome, hasStaleMarks } = result;
    if (!hasStaleMarks || (outcome !== 'quota-reserved' && outcome !== 'concurrency-reached')) {
      return result;
    }
    // Units of dead processes fill the plan: refund them before denying a request because of them.
    // Sent again also if this process refunded none: another one may have been first.
    await reaper.reap(reservation);
    return send(reservation);
  };
  return async (reservation, release, isConfirmed) => {
    try {
      return await reserve(reservation, isConfirmed ? store.reserve : store.reserveUnconfirmed);
    } catch (error) {
      // The write may have been applied, or may be later, and no request will use the unit.
      await release.refund('short');
      throw error;
    }
  };
};

/** The `Admission` of a reserved unit; `onRefund` runs once its unit was returned. */
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
    withdraw: async () => {
      await release.withdraw();
      onRefund();
    },
    finished: async () => {
      await reaping;
      await release.finished();
    },
  };
};
