import type { Caller } from '../keys/caller.ts';
import type { RequestLimits } from '../protocols/protocol.ts';
import type { MeterStore, UsageSnapshot } from '../stores/meter-store.ts';
import type { Clock } from '../support/clock.ts';
import { keyRevoked } from './limit-errors.ts';
import type { Reaper } from './reaper.ts';
import { limitsAt, reservationOf } from './reservation.ts';

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
    const isChanged = snapshot.hasStaleMarks && (await reaper.reap(query)) > 0;
    return isChanged ? store.readUsage(query) : snapshot;
  };

/** Reading usage takes no unit, so it needs no request id. */
const NO_REQUEST = '';

/** Reads a caller's usage. @throws ApiError 401, StoreUnavailable */
export const createReadUsage =
  ({ readSnapshot, clock }: { readSnapshot: ReadSnapshot; clock: Clock }) =>
  async (caller: Caller): Promise<Usage> => {
    const query = reservationOf(caller, NO_REQUEST, clock.now());
    const snapshot = await readSnapshot(query);
    if (snapshot.isKeyEnded) throw keyRevoked();
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
