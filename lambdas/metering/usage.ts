import type { Caller } from '../keys/caller.ts';
import type { RequestLimits } from '../protocols/protocol.ts';
import type { MeterStore } from '../stores/meter-store.ts';
import type { Clock } from '../support/clock.ts';
import type { Reaper } from './reaper.ts';
import { keyEnded } from './refusals.ts';
import { limitsAt, reservationOf } from './reservation.ts';

export type Usage = {
  minute: Used;
  period: Used;
  /** When this key was last admitted, in ms. */
  lastUsedAt: number | undefined;
};

export type Used = RequestLimits & { used: number };

/** A look takes no unit, so it needs no id. */
const NO_REQUEST = '';

/**
 * Reads where a caller stands. Whoever looks after 17 minutes sees no unit of a dead process any more: what is
 * found is given back first. @throws ApiError 401, StoreUnavailable
 */
export const createReadUsage =
  ({
    store,
    reaper,
    clock,
  }: {
    store: Pick<MeterStore, 'standing'>;
    reaper: Reaper;
    clock: Clock;
  }) =>
  async (caller: Caller): Promise<Usage> => {
    const query = reservationOf(caller, NO_REQUEST, clock.now());
    const seen = await store.standing(query);
    const isChanged = seen.leftovers && (await reaper.reap(query)) > 0;
    const standing = isChanged ? await store.standing(query) : seen;
    if (standing.keyRefused) throw keyEnded();
    const { requests, quota } = limitsAt(caller, query, standing);
    return {
      minute: { ...requests, used: standing.minuteCount },
      period: { ...quota, used: standing.periodCount },
      lastUsedAt: standing.lastUsedAt,
    };
  };
