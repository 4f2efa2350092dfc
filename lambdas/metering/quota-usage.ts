import type { Caller } from '../keys/caller.ts';
import type { RequestLimits } from '../protocols/protocol.ts';
import type { Clock } from '../support/clock.ts';
import { keyRevoked } from './limit-errors.ts';
import type { ReadSnapshot } from './read-snapshot.ts';
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

/** Reads where a caller stands. @throws ApiError 401, StoreUnavailable */
export const createReadUsage =
  ({ look, clock }: { look: ReadSnapshot; clock: Clock }) =>
  async (caller: Caller): Promise<Usage> => {
    const query = reservationOf(caller, NO_REQUEST, clock.now());
    const standing = await look(query);
    if (standing.keyRefused) throw keyRevoked();
    const { requests, quota } = limitsAt(caller, query, standing);
    return {
      minute: { ...requests, used: standing.minuteCount },
      period: { ...quota, used: standing.periodCount },
      lastUsedAt: standing.lastUsedAt,
    };
  };
