import {
  budgetError,
  concurrencyReached,
  freeRateExceeded,
  quotaExceeded,
  quotaReserved,
  rateExceeded,
  tooLate,
} from '#late/limit-errors';
import type { Caller } from '../keys/authenticate.ts';
import type { Unit } from '../stores/answer-store.ts';
import type { BudgetRefusal } from '../stores/budget-store.ts';
import type {
  LeasedUnit,
  RequestMeters,
  Reservation,
  ReservedUnit,
} from '../stores/meter-store.ts';
import { type Clock, minuteOf, minuteResetsAt, withTimeout } from '../support/clock.ts';
import type { ApiError } from '../support/errors.ts';
import type { Log } from '../support/log.ts';
import { createLruCache } from '../support/memo.ts';
import { type Admission, createUnitSettlement, type Report, reserve } from './admission.ts';
import { type LeaseQuery, type LeaseSize, leaseOf, limiting } from './budgets.ts';
import {
  createLimitCache,
  createRoomEstimate,
  type LimitExceeded,
  shedOverload,
} from './limit-cache.ts';
import {
  keyRevoked,
  LimitReached,
  type Limits,
  limitsAt,
  mapStoreErrors,
  mayReport,
  reservationOf,
} from './limits.ts';
import { createReadSnapshot, createReadUsage, createReaper, type Usage } from './quota-usage.ts';

/** Implemented by `createMeter`. */
export type Meter = {
  /** @throws ApiError 402, 429, 401 (key revoked, replaced or expired) or 503 (meters table unavailable) */
  admit(caller: Caller, requestId: string, options?: AdmitOptions): Promise<Admission>;
  /**
   * Changes what a request has leased of its budgets to so many nanos; why not, if one of them has not so much left.
   * @throws StoreUnavailable
   */
  changeLease(unit: LeasedUnit, nanos: number): Promise<BudgetRefusal | undefined>;
  /** Counts a call that costs no quota. @throws ApiError 429 or 503 */
  admitFree(caller: Caller): Promise<void>;
  /**
   * Reads the caller's usage; units of dead processes are refunded first, except for that of a kept response that is
   * sent again, which is charged. @throws ApiError 401 or 503
   */
  usage(caller: Caller, kept?: Unit): Promise<Usage>;
};

export type AdmitOptions = {
  /** The instant of the reservation; the clock's if it is the request's first. */
  now?: number | undefined;
  /**
   * Whether the caller is as the tables have it: the unit is reserved meanwhile, and withdrawn if this throws. Without it
   * the caller was just read.
   */
  confirm?: (() => Promise<void>) | undefined;
  /** What the request may cost at most, if the caller has budgets of dollars. */
  lease?: (LeaseSize & LeaseQuery) | undefined;
  /** Called at once if the request may go to its provider before it is admitted, as it almost certainly will be. */
  onRoom?: (() => void) | undefined;
};

/** Free calls a minute: at least 600, else ten per generation, which covers any agent's start. */
const MIN_FREE_CAP = 600;
const FREE_CALLS_PER_GENERATION = 10;
const MAX_METERS = 1_000;
/** A reservation of an earlier instant is that of a request whose process died, and may exist (replay/run-once.ts). */
const REPEAT_AFTER_MS = 10_000;

/** Limits the calls per minute that cost no quota. @throws ApiError 429, StoreUnavailable */
const createAdmitFree = ({
  store,
  clock,
}: {
  store: Pick<RequestMeters, 'admitFree'>;
  clock: Clock;
}): Meter['admitFree'] => {
  /** Meter id to its last full minute, which stays full: a flood costs one write. */
  const fullMinutes = createLruCache<number>(MAX_METERS);
  return async ({ meterId, plan }) => {
    const minute = minuteOf(clock.now());
    const cap = Math.max(MIN_FREE_CAP, plan.rpm * FREE_CALLS_PER_GENERATION);
    const isFull = fullMinutes.get(meterId) === minute;
    if (!isFull && (await store.admitFree(meterId, minute, cap))) return;
    fullMinutes.set(meterId, minute);
    throw freeRateExceeded(cap, minuteResetsAt(minute), clock.now());
  };
};

/** How long a repeat waits for the charge of a dead process's unit, in ms; its retries continue. */
const CHARGE_TIMEOUT_MS = 1_000;

type ReserveOptions = Pick<AdmitOptions, 'now' | 'lease'> & { isConfirmed: boolean };

const limitError = (
  { outcome, refusal, floor }: LimitExceeded,
  limits: Limits,
  { plan }: Caller,
  { now, lease }: { now: number; lease: LeaseSize | undefined },
): ApiError => {
  switch (outcome) {
    case 'key-ended':
      return keyRevoked();
    case 'quota-exhausted':
      return quotaExceeded(limits, plan.period, now);
    case 'rate-limited':
      return rateExceeded(limits, now);
    case 'quota-reserved':
      return quotaReserved(limits, now);
    case 'concurrency-reached':
      return concurrencyReached(plan.concurrency, limits, now);
    case 'over-budget':
      if (refusal) return budgetError(refusal, { limits, lease, now });
      return tooLate(floor, now);
    case 'too-late':
      return tooLate(floor, now);
  }
};

/** Admits exactly as many requests as the plan allows; exactness rests on the store's conditional writes. */
export const createMeter = (deps: {
  store: RequestMeters;
  clock: Clock;
  log: Log;
  /** @default no events of usage */
  report?: () => Report;
}): Meter => {
  const { store, clock, report } = deps;
  const { shed, assertNotHeld } = shedOverload(deps);
  const limitCache = createLimitCache(store);
  const reaper = createReaper({ ...deps, store: shed });
  const admitFree = createAdmitFree(deps);
  const readSnapshot = createReadSnapshot({ store, reaper });
  const charge = (unit: ReservedUnit) =>
    withTimeout(clock, CHARGE_TIMEOUT_MS, createUnitSettlement({ ...deps, unit }).charge());
  const readUsage = createReadUsage({ readSnapshot, charge, clock });
  const room = createRoomEstimate({ clock });

  /** Undefined if a sharded meter has to wait until the caller's limits are confirmed. */
  const reserveUnit = async (
    caller: Caller,
    requestId: string,
    { now = clock.now(), isConfirmed, lease }: ReserveOptions,
  ): Promise<Admission | undefined> => {
    const isRepeat = clock.now() - now >= REPEAT_AFTER_MS;
    const reservation: Reservation = { ...reservationOf(caller, requestId, now), isRepeat };
    if (lease !== undefined) reservation.lease = leaseOf(caller, lease, now);
    const errorFor = (exceeded: LimitExceeded): ApiError =>
      limitError(exceeded, limitsAt(caller, reservation, exceeded), caller, {
        now: clock.now(),
        lease,
      });

    const settlement = createUnitSettlement({ ...deps, unit: reservation });
    const send = isConfirmed ? shed.reserve : shed.reserveUnconfirmed;
    const result = await mapStoreErrors(async () => {
      const cached = await limitCache.find(reservation);
      if (cached) throw errorFor(cached);
      assertNotHeld(caller.meterId);
      return reserve({ reaper, send }, reservation, settlement);
    });
    if (!result) return undefined;
    const { outcome } = result;
    if (outcome !== 'admitted') {
      limitCache.set(reservation, { ...result, outcome });
      throw errorFor({ ...result, outcome });
    }
    room.saw(caller, result);
    const reaping = result.hasStaleMarks ? reaper.reap(reservation) : undefined;
    const releasing = (release: () => Promise<void>) => async () => {
      await release();
      limitCache.invalidate(reservation);
    };
    const limits: Limits = {
      ...limitsAt(caller, reservation, result),
      budgets: result.budgets && limiting(result.budgets),
    };
    let reporting: Promise<void> | undefined;
    const admission: Admission = {
      ...{ unit: reservation, limits },
      charge: async () => {
        const isCharged = await settlement.charge();
        if (isCharged && report && mayReport(limits)) {
          reporting = report().charged(caller, admission);
        }
        return isCharged;
      },
      refund: releasing(settlement.refund),
      withdraw: releasing(settlement.withdraw),
      finished: async () => {
        await reporting;
        await reaping;
        await settlement.finished();
      },
    };
    return admission;
  };

  const admitConfirmed = async (caller: Caller, requestId: string, options: AdmitOptions) => {
    const admission = await reserveUnit(caller, requestId, { ...options, isConfirmed: true });
    if (!admission) throw new Error('A confirmed reservation has a result.');
    return admission;
  };

  const admitDuring = async (
    confirm: () => Promise<void>,
    { caller, requestId, options }: { caller: Caller; requestId: string; options: AdmitOptions },
  ) => {
    const reserving = reserveUnit(caller, requestId, { ...options, isConfirmed: false });
    const [reserved, confirmed] = await Promise.allSettled([reserving, confirm()]);
    if (confirmed.status === 'rejected') {
      if (reserved.status === 'fulfilled') await reserved.value?.withdraw();
      throw confirmed.reason;
    }
    return (await reserving) ?? (await admitConfirmed(caller, requestId, options));
  };

  const admit: Meter['admit'] = async (caller, requestId, options = {}) => {
    const { confirm, onRoom, lease } = options;
    const isEarly = room.enter(caller);
    try {
      // A call that is denied after all would cost dollars that no budget has leased.
      if (isEarly && lease === undefined) onRoom?.();
      if (confirm) return await admitDuring(confirm, { caller, requestId, options });
      return await admitConfirmed(caller, requestId, options);
    } catch (error) {
      room.denied(caller);
      throw error;
    } finally {
      room.leave(caller, isEarly);
    }
  };

  return {
    admit: (caller, ...request) =>
      admit(caller, ...request).catch(async (error) => {
        if (error instanceof LimitReached && error.limits.budgets) {
          await report?.().denied(caller, error);
        }
        throw error;
      }),
    changeLease: (unit, nanos) => store.changeLease(unit, nanos, clock.now()),
    admitFree: (caller) => mapStoreErrors(() => admitFree(caller)),
    usage: (caller, kept) => mapStoreErrors(() => readUsage(caller, kept)),
  };
};
