import type { MeterStore } from '../stores/meter-store.ts';
import { StoreThrottled } from '../stores/store-unavailable.ts';
import { type Clock, pause } from '../support/clock.ts';
import { createLruCache } from '../support/lru-cache.ts';

/** How long reservations of a throttled meter are held back, in ms; doubled while it stays throttled. */
const MIN_HOLD_MS = 100;
const MAX_HOLD_MS = 1_000;
/**
 * Pauses before the repeats of a throttled write of an admitted request, in ms. They last longer than the longest
 * hold, so that an admitted request is finished before others are admitted.
 */
const REPEAT_PAUSES_MS = [25, 50, 100, 200, 400, 800];
const MAX_METERS = 1_000;

type Hold = { until: number; ms: number };

/**
 * Sheds overload before the table. DynamoDB limits the writes of one item; once it throttles a meter, this
 * environment sends no reservation of that meter for a moment, so that the writes of admitted requests get
 * through; `assertNotHeld` throws StoreThrottled meanwhile. Without it each admitted request would leave its marks, and the larger item would allow even fewer.
 */
export const shedOverload = ({
  store,
  clock,
}: {
  store: MeterStore;
  clock: Clock;
}): { store: MeterStore; assertNotHeld: (meterId: string) => void } => {
  const holds = createLruCache<Hold>(MAX_METERS);

  const hold = (meterId: string): void => {
    const now = clock.now();
    const last = holds.get(meterId);
    if (last && now < last.until) return;
    const isSoon = last !== undefined && now - last.until < last.ms;
    const ms = isSoon ? Math.min(2 * last.ms, MAX_HOLD_MS) : MIN_HOLD_MS;
    holds.set(meterId, { until: now + ms, ms });
  };

  const send = async <Value>(meterId: string, verb: () => Promise<Value>): Promise<Value> => {
    try {
      return await verb();
    } catch (error) {
      if (error instanceof StoreThrottled) hold(meterId);
      throw error;
    }
  };

  const repeat = async <Value>(meterId: string, verb: () => Promise<Value>): Promise<Value> => {
    for (const ms of REPEAT_PAUSES_MS) {
      try {
        return await send(meterId, verb);
      } catch (error) {
        if (!(error instanceof StoreThrottled)) throw error;
        await pause(clock, ms);
      }
    }
    return send(meterId, verb);
  };

  const shed: MeterStore = {
    reserve: (reservation) => send(reservation.meterId, () => store.reserve(reservation)),
    reserveUnconfirmed: (reservation) =>
      send(reservation.meterId, () => store.reserveUnconfirmed(reservation)),
    charge: (unit) => repeat(unit.meterId, () => store.charge(unit)),
    refund: (unit) => repeat(unit.meterId, () => store.refund(unit)),
    withdraw: (unit) => repeat(unit.meterId, () => store.withdraw(unit)),
    reap: (meterId, now) => send(meterId, () => store.reap(meterId, now)),
    readUsage: (query) => store.readUsage(query),
    endedPeriods: (meterId, now) => store.endedPeriods(meterId, now),
    forgetPeriods: (meterId, periods) => store.forgetPeriods(meterId, periods),
    endKey: (meterId, keyId, validUntil) => store.endKey(meterId, keyId, validUntil),
    revokeKey: (meterId, keyId, now) => store.revokeKey(meterId, keyId, now),
    admitFree: (meterId, minute, cap) => store.admitFree(meterId, minute, cap),
  };
  return {
    store: shed,
    assertNotHeld: (meterId) => {
      if (clock.now() >= (holds.get(meterId)?.until ?? 0)) return;
      throw new StoreThrottled('The meter was throttled a moment ago.', { mayBeApplied: false });
    },
  };
};
