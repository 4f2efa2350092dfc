import type { Caller } from '../keys/caller.ts';
import type { MeterStore, Reservation, ReserveResult } from '../stores/meter-store.ts';
import { StoreUnavailable } from '../stores/store-unavailable.ts';
import type { Clock } from '../support/clock.ts';
import type { ApiError } from '../support/errors.ts';
import type { Log } from '../support/log.ts';
import { createDenials, type Refusal } from './denials.ts';
import { createFreeMeter } from './free-meter.ts';
import type { Limits } from './limit-headers.ts';
import { createLook } from './look.ts';
import { createReaper } from './reaper.ts';
import { keyEnded, meterUnavailable, quotaRefusal, rateRefusal } from './refusals.ts';
import { limitsAt, reservationOf } from './reservation.ts';
import { createSettlement, type Settlement } from './settlement.ts';
import { createReadUsage, type Usage } from './usage.ts';

/** One reserved unit. Whoever holds it calls `close` at the end, after `commit` or `refund`. */
export type Admission = {
  /** As they stand with this request counted. */
  limits: Limits;
  /** Makes the charge stick; before the first content byte. @throws ApiError 503 when it may not be sent. */
  commit(): Promise<void>;
  /** Gives the unit back; before the error is sent. Never throws: what cannot be written is retried, then logged. */
  refund(): Promise<void>;
  /** Never throws. */
  close(): Promise<void>;
};

export type Meter = {
  /** @throws ApiError 402, 429, 401 (key ended) or 503 (meter unreachable) */
  admit(caller: Caller, requestId: string): Promise<Admission>;
  /** Counts a call that costs no quota. @throws ApiError 429 or 503 */
  admitFree(caller: Caller): Promise<void>;
  /** Where the caller stands, units of dead processes given back. @throws ApiError 401 or 503 */
  usage(caller: Caller): Promise<Usage>;
};

const refusalError = (
  { outcome }: Refusal,
  limits: Limits,
  { plan }: Caller,
  now: number,
): ApiError => {
  switch (outcome) {
    case 'key-refused':
      return keyEnded();
    case 'quota-exhausted':
      return quotaRefusal(limits, plan.period, now);
    case 'rate-limited':
      return rateRefusal(limits, now);
    case 'withdrawn':
      return meterUnavailable(new Error('The request id was refunded before.'));
  }
};

const orUnavailable = async <Value>(verb: () => Promise<Value>): Promise<Value> => {
  try {
    return await verb();
  } catch (error) {
    throw error instanceof StoreUnavailable ? meterUnavailable(error) : error;
  }
};

/** Admits requests against their plan, exactly; the promises are kept by the store's conditional writes. */
export const createMeter = (deps: { store: MeterStore; clock: Clock; log: Log }): Meter => {
  const { store, clock } = deps;
  const denials = createDenials({ store });
  const reaper = createReaper(deps);
  const freeMeter = createFreeMeter(deps);
  const readUsage = createReadUsage({ look: createLook({ store, reaper }), clock });

  const reserve = async (reservation: Reservation): Promise<ReserveResult> => {
    const result = await store.reserve(reservation);
    if (result.outcome !== 'quota-exhausted' || !result.leftovers) return result;
    // Units of dead processes fill the quota: nobody may be refused for them.
    const refunded = await reaper.reap(reservation);
    return refunded > 0 ? store.reserve(reservation) : result;
  };

  const reserveOrSettle = async (
    reservation: Reservation,
    settlement: Settlement,
  ): Promise<ReserveResult> => {
    try {
      return await reserve(reservation);
    } catch (error) {
      // The write may have been applied, or may still be: give back what nobody will use.
      await settlement.refund('silent');
      // A process that is frozen after its answer goes on when it is woken; else the unit is reaped.
      void settlement.close();
      throw error;
    }
  };

  const admit: Meter['admit'] = async (caller, requestId) => {
    const reservation = reservationOf(caller, requestId, clock.now());
    const refuse = (refusal: Refusal): ApiError =>
      refusalError(refusal, limitsAt(caller, reservation, refusal), caller, clock.now());

    const known = await orUnavailable(() => denials.find(reservation));
    if (known) throw refuse(known);

    const settlement = createSettlement({ ...deps, unit: reservation });
    const result = await orUnavailable(() => reserveOrSettle(reservation, settlement));
    const { outcome } = result;
    if (outcome !== 'admitted') {
      denials.note(reservation, { ...result, outcome });
      throw refuse({ ...result, outcome });
    }

    const reaping = result.leftovers ? reaper.reap(reservation) : undefined;
    let table: 'answering' | 'silent' = 'answering';
    const commit = async (): Promise<boolean> => {
      try {
        return await store.commit(reservation);
      } catch (error) {
        table = 'silent';
        throw error;
      }
    };
    return {
      limits: limitsAt(caller, reservation, result),
      commit: async () => {
        if (await orUnavailable(commit)) return;
        throw meterUnavailable(new Error('The unit was reaped before its commit.'));
      },
      refund: async () => {
        await settlement.refund(table);
        denials.doubt(reservation);
      },
      close: async () => {
        await reaping;
        await settlement.close();
      },
    };
  };

  return {
    admit,
    admitFree: (caller) => orUnavailable(() => freeMeter.admit(caller)),
    usage: (caller) => orUnavailable(() => readUsage(caller)),
  };
};
