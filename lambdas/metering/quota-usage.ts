import type { Caller } from '../keys/authenticate.ts';
import type { RequestLimits } from '../protocols/protocol.ts';
import type { Unit } from '../stores/answer-store.ts';
import type {
  MeterStore,
  Reservation,
  ReservedUnit,
  UsageSnapshot,
} from '../stores/meter-store.ts';
import type { Clock } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import { keyRevoked, limitsAt, reservationOf } from './limits.ts';

export type Reaper = {
  /** Refunds a meter's units of dead processes, or waits while another request does. Never throws. */
  reap(meter: Pick<Reservation, 'meterId' | 'now'>): Promise<void>;
};

/** Concurrent requests of a meter see the same stale marks: one reaps them, the others await it. */
export const createReaper = ({
  store,
  log,
}: {
  store: Pick<MeterStore, 'reap'>;
  log: Log;
}): Reaper => {
  const running = new Map<string, Promise<void>>();

  const run = async (meterId: string, now: number): Promise<void> => {
    try {
      const refunded = await store.reap(meterId, now);
      if (refunded > 0) log.warn('meter_units_reaped', { meterId, refunded });
    } catch {
      // The next request sees the same marks and tries again.
    } finally {
      running.delete(meterId);
    }
  };

  return {
    reap: ({ meterId, now }) => {
      const reaping = running.get(meterId) ?? run(meterId, now);
      running.set(meterId, reaping);
      return reaping;
    },
  };
};

export type WindowUsage = RequestLimits & { used: number };

export type Usage = {
  minute: WindowUsage;
  /** `reserved`: units of requests in flight, which are not in `used`; a failure refunds them. */
  period: WindowUsage & { reserved: number };
  /** When this key was last admitted, in ms. */
  lastUsedAt: number | undefined;
};

export type ReadSnapshot = (
  query: Parameters<MeterStore['readUsage']>[0],
) => Promise<UsageSnapshot>;

/**
 * Reads a meter's counts. Units whose process died over 17 minutes ago are refunded first.
 * @throws StoreUnavailable
 */
export const createReadSnapshot =
  ({ store, reaper }: { store: Pick<MeterStore, 'readUsage'>; reaper: Reaper }): ReadSnapshot =>
  async (query) => {
    const snapshot = await store.readUsage(query);
    // An open unit of the query is to be charged, however stale its mark is.
    if (!snapshot.hasStaleMarks || snapshot.isUnitOpen) return snapshot;
    await reaper.reap(query);
    return store.readUsage(query);
  };

/** Reading usage takes no unit, so it needs no request id. */
const NO_REQUEST = '';

/**
 * Reads a caller's usage. `kept` is the unit of a kept response that is sent again: it is charged if its process died
 * before that. @throws ApiError 401, StoreUnavailable
 */
export const createReadUsage =
  ({
    readSnapshot,
    charge,
    clock,
  }: {
    readSnapshot: ReadSnapshot;
    /** Never throws. */
    charge(unit: ReservedUnit): Promise<unknown>;
    clock: Clock;
  }) =>
  async (caller: Caller, kept?: Unit): Promise<Usage> => {
    const query = reservationOf(caller, NO_REQUEST, clock.now());
    const unit = kept && reservationOf(caller, kept.requestId, kept.startedAt);
    const snapshot = await readSnapshot({ ...query, unit });
    if (snapshot.isKeyEnded) throw keyRevoked();
    if (unit && snapshot.isUnitOpen) {
      await charge(unit);
      if (unit.period === query.period) snapshot.reservedCount -= 1;
    }
    const { requests, quota } = limitsAt(caller, query, snapshot);
    return {
      minute: { ...requests, used: snapshot.minuteCount },
      period: {
        ...quota,
        used: snapshot.periodCount - snapshot.reservedCount,
        reserved: snapshot.reservedCount,
      },
      lastUsedAt: snapshot.lastUsedAt,
    };
  };
