import type { Caller } from '../keys/caller.ts';
import type { MeterStore } from '../stores/meter-store.ts';
import type { Clock } from '../support/clock.ts';
import type { ApiError } from '../support/errors.ts';
import type { Log } from '../support/log.ts';
import { type Admission, createAdmission } from './admission.ts';
import { createFreeMeter } from './free-meter.ts';
import { createLimitCache, type LimitExceeded } from './limit-cache.ts';
import {
  keyRevoked,
  mapStoreErrors,
  meterUnavailable,
  quotaExceeded,
  rateExceeded,
} from './limit-errors.ts';
import type { Limits } from './limit-headers.ts';
import { createReadUsage, type Usage } from './quota-usage.ts';
import { createReadSnapshot } from './read-snapshot.ts';
import { createReaper } from './reaper.ts';
import { limitsAt, reservationOf } from './reservation.ts';
import { createReserve } from './reserve.ts';
import { createUnitRelease } from './unit-release.ts';

export type Meter = {
  /** @throws ApiError 402, 429, 401 (key ended) or 503 (meter unreachable) */
  admit(caller: Caller, requestId: string): Promise<Admission>;
  /** Counts a call that costs no quota. @throws ApiError 429 or 503 */
  admitFree(caller: Caller): Promise<void>;
  /** Where the caller stands, units of dead processes given back. @throws ApiError 401 or 503 */
  usage(caller: Caller): Promise<Usage>;
};

const refusalError = (
  { outcome }: LimitExceeded,
  limits: Limits,
  { plan }: Caller,
  now: number,
): ApiError => {
  switch (outcome) {
    case 'key-refused':
      return keyRevoked();
    case 'quota-exhausted':
      return quotaExceeded(limits, plan.period, now);
    case 'rate-limited':
      return rateExceeded(limits, now);
    case 'withdrawn':
      return meterUnavailable(new Error('The request id was refunded before.'));
  }
};

/** Admits requests against their plan, exactly; the promises are kept by the store's conditional writes. */
export const createMeter = (deps: { store: MeterStore; clock: Clock; log: Log }): Meter => {
  const { store, clock } = deps;
  const denials = createLimitCache({ store });
  const reaper = createReaper(deps);
  const reserve = createReserve({ store, reaper });
  const freeMeter = createFreeMeter(deps);
  const readUsage = createReadUsage({ look: createReadSnapshot({ store, reaper }), clock });

  const admit: Meter['admit'] = async (caller, requestId) => {
    const reservation = reservationOf(caller, requestId, clock.now());
    const refuse = (refusal: LimitExceeded): ApiError =>
      refusalError(refusal, limitsAt(caller, reservation, refusal), caller, clock.now());

    const known = await mapStoreErrors(() => denials.find(reservation));
    if (known) throw refuse(known);

    const release = createUnitRelease({ ...deps, unit: reservation });
    const result = await mapStoreErrors(() => reserve(reservation, release));
    const { outcome } = result;
    if (outcome !== 'admitted') {
      denials.set(reservation, { ...result, outcome });
      throw refuse({ ...result, outcome });
    }
    return createAdmission({
      store,
      reservation,
      limits: limitsAt(caller, reservation, result),
      release,
      reaping: result.leftovers ? reaper.reap(reservation) : undefined,
      onRefund: () => denials.invalidate(reservation),
    });
  };

  return {
    admit,
    admitFree: (caller) => mapStoreErrors(() => freeMeter.admit(caller)),
    usage: (caller) => mapStoreErrors(() => readUsage(caller)),
  };
};
