import type { BreakerState, BreakerStore } from '../stores/breaker-store.ts';
import type { Clock } from '../support/clock.ts';
import type { Log } from '../support/log.ts';

/** The breakers' states as all environments share them. Nothing here throws: a breaker is an optimisation. */
export type SharedStates = {
  /** At most two seconds old; undefined, as for a closed breaker, when the store does not answer. */
  read(name: string): Promise<BreakerState | undefined>;
  /** Writes the transition that follows version `seen`; undefined if it could not be, or came too late. */
  transition(name: string, next: Transition, seen: number): Promise<BreakerState | undefined>;
  /** Returns whether this process got the one probe of a half-open breaker. */
  takeProbe(name: string): Promise<boolean>;
};

export type Transition = Omit<BreakerState, 'version'>;

/** How long a read is cached: another environment's transition is seen within 2 s. */
export const FRESH_MS = 2_000;
/** A probe whose process died expires after the longest first-event timeout. */
const PROBE_MS = 120_000;

/** Reads are shared and kept for two seconds; what the store does not answer is logged, not thrown. */
export const createSharedStates = (parts: {
  store: BreakerStore;
  clock: Clock;
  log: Log;
}): SharedStates => {
  const { store, clock, log } = parts;
  // As many entries as the catalog has targets. A pending read is never waited for once it is old: the
  // platform may have put it to sleep with the request that began it.
  const readings = new Map<string, { at: number; state: Promise<BreakerState | undefined> }>();

  const keep = (name: string, state: Promise<BreakerState | undefined>) => {
    readings.set(name, { at: clock.now(), state });
    return state;
  };

  const fetchState = async (name: string): Promise<BreakerState | undefined> => {
    try {
      return await store.readBreaker(name);
    } catch {
      log.warn('breaker_unreadable', { target: name });
      return undefined;
    }
  };

  return {
    read: (name) => {
      const known = readings.get(name);
      if (known && clock.now() - known.at < FRESH_MS) return known.state;
      return keep(name, fetchState(name));
    },
    transition: async (name, next, seen) => {
      try {
        if (await store.transitionBreaker(name, next, seen)) {
          const state = { ...next, version: seen + 1 };
          return await keep(name, Promise.resolve(state));
        }
        // Another environment was first: what it wrote is read before the next request.
        readings.delete(name);
      } catch {
        log.warn('breaker_unwritable', { target: name });
      }
      return undefined;
    },
    takeProbe: async (name) => {
      const now = clock.now();
      try {
        return await store.takeProbe(name, now, now + PROBE_MS);
      } catch {
        return true;
      }
    },
  };
};
