import type { Caller } from '../keys/authenticate.ts';
import type {
  RequestMeters,
  Reservation,
  ReservedUnit,
  ReserveResult,
} from '../stores/meter-store.ts';
import { StoreThrottled } from '../stores/store-unavailable.ts';
import { type Clock, pause, withTimeout } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import type { LimitReached, Limits } from './limits.ts';
import type { Reaper } from './quota-usage.ts';

/**
 * Pauses before the repeats of a settlement, in ms. Those of a throttled one last longer than the longest hold of its meter
 *, so that an admitted request is finished before others are admitted; the store bounds the time of each attempt.
 */
const THROTTLED_PAUSES_MS = [25, 50, 100, 200, 400, 800];
const FAILED_PAUSES_MS = [100, 400, 1_600];

/** How long a response waits for the refund, in ms: one whole attempt. The 503 is then sent within 4 s. */
const WHOLE_ATTEMPT_MS = 3_500;
/** The same if the table has just failed another write of the same request. */
const SHORT_MS = 300;

/** One reserved unit. Its holder settles it once, with one of three verbs, then awaits `finished`. No verb throws. */
export type Admission = {
  unit: ReservedUnit;
  /** Include this request. */
  limits: Limits;
  /** Whether the charge is written; if not, its last retry failed too, and the reaper refunds the unit. */
  charge(): Promise<boolean>;
  /** Before the error is sent. Resolves when the unit is refunded or on timeout; retries continue, and `finished` awaits them. */
  refund(): Promise<void>;
  /** The same, with the place in the minute: no one has served the request. */
  withdraw(): Promise<void>;
  finished(): Promise<void>;
};

/** Announces what a charged unit has reached, and a budget that denies (thresholds.ts). Never throws. */
export type Report = {
  charged(caller: Caller, admission: Admission): Promise<void>;
  denied(caller: Caller, error: LimitReached): Promise<void>;
};

type SettlementParts = {
  store: Pick<RequestMeters, 'charge' | 'refund' | 'withdraw'>;
  unit: ReservedUnit;
  clock: Clock;
  log: Log;
};

/** Whether a write is applied in the end; `onFailure` is called with false when it fails other than by being throttled. */
const sendRepeatedly = async (
  write: () => Promise<void>,
  clock: Clock,
  onFailure: (isWritten: false) => void = () => {},
): Promise<boolean> => {
  const [throttled, failed] = [THROTTLED_PAUSES_MS.values(), FAILED_PAUSES_MS.values()];
  for (;;) {
    try {
      await write();
      return true;
    } catch (error) {
      const soon = error instanceof StoreThrottled ? throttled.next().value : undefined;
      if (soon === undefined) onFailure(false);
      const ms = soon ?? failed.next().value;
      if (ms === undefined) return false;
      await pause(clock, ms);
    }
  }
};

/**
 * Settles the unit of one request. A write that fails is retried after the response; if the last retry fails
 * too, the reaper refunds the unit.
 */
export const createUnitSettlement = ({ store, unit, clock, log }: SettlementParts) => {
  const { meterId, requestId, minute, period } = unit;
  const ids = { meterId, requestId, minute, period };
  let writing: Promise<unknown> = Promise.resolve();

  const release = async (verb: 'refund' | 'withdraw', timeoutMs: number): Promise<void> => {
    let isLate = false;
    const failure = Promise.withResolvers<boolean>();
    const written = sendRepeatedly(() => store[verb](unit), clock, failure.resolve);
    writing = written.then((isWritten) => {
      if (!isWritten) log.error('meter_refund_pending', ids);
      else if (isLate) log.info('meter_refund_written', ids);
    });
    const first = Promise.race([written, failure.promise]);
    if ((await withTimeout(clock, timeoutMs, first))?.value) return;
    // Logged now, because a frozen or killed process cannot log the result of its retries.
    isLate = true;
    log.warn('meter_refund_late', ids);
  };

  return {
    charge: async () => {
      const isWritten = await sendRepeatedly(() => store.charge(unit), clock);
      if (!isWritten) log.error('meter_charge_pending', ids);
      return isWritten;
    },
    refund: (timeoutMs = WHOLE_ATTEMPT_MS) => release('refund', timeoutMs),
    withdraw: () => release('withdraw', WHOLE_ATTEMPT_MS),
    finished: async () => {
      await writing;
    },
  };
};
export type UnitSettlement = ReturnType<typeof createUnitSettlement>;

/**
 * Reserves one unit. Undefined if a sharded meter has to wait for limits that are being read.
 * @throws StoreUnavailable after a refund of what may have been reserved
 */
export const reserve = async (
  { reaper, send }: { reaper: Reaper; send: RequestMeters['reserveUnconfirmed'] },
  reservation: Reservation,
  settlement: UnitSettlement,
): Promise<ReserveResult | undefined> => {
  try {
    const result = await send(reservation);
    const isDenied =
      result?.outcome === 'quota-reserved' || result?.outcome === 'concurrency-reached';
    if (!result?.hasStaleMarks || !isDenied) return result;
    // Units of dead processes fill the plan: refund them before denying a request because of them.
    // Sent again also if this process refunded none: another one may have been first.
    await reaper.reap(reservation);
    return await send(reservation);
  } catch (error) {
    // The write may have been applied, or may be later, and no request will use the unit.
    await settlement.refund(SHORT_MS);
    throw error;
  }
};

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
