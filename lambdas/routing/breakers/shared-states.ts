import type { BreakerState, BreakerStore } from '../../stores/notes.ts';
import { type Clock, tryFor, withTimeout } from '../../support/clock.ts';
import type { Log } from '../../support/log.ts';

export type SharedStates = ReturnType<typeof createSharedStates>;

type State = BreakerState | undefined;

/** How long a read is cached, which may be a second behind: another environment's transition is seen within 3 s. */
export const FRESH_MS = 2_000;
/** How long a request waits for a read, and for a write of its outcome. Usual ones take 5 ms. */
const READ_TIMEOUT_MS = 250;
const WRITE_TIMEOUT_MS = 1_000;
/** A probe whose process died expires after the longest first-event timeout. */
const PROBE_MS = 120_000;

/**
 * The breakers' states as all environments share them. Reads are shared and kept for two seconds; what the store does not
 * answer is logged, not thrown: a breaker is an optimisation.
 */
export const createSharedStates = (parts: { store: BreakerStore; clock: Clock; log: Log }) => {
  const { store, clock, log } = parts;
  // As many entries as the catalog has targets. A pending read is never waited for once it is old: the
  // platform may have put it to sleep with the request that began it.
  const readings = new Map<string, { at: number; state: Promise<State> }>();
  const latest = new Map<string, BreakerState>();

  const keep = (name: string, state: State): State => {
    if (state && state.version >= (latest.get(name)?.version ?? 0)) latest.set(name, state);
    return state;
  };

  const forget = (name: string) => {
    readings.delete(name);
    latest.delete(name);
  };

  const fetchState = async (name: string): Promise<State> => {
    try {
      return keep(name, await store.readBreaker(name));
    } catch {
      log.warn('breaker_unreadable', { target: name });
      return undefined;
    }
  };

  /** A read that takes longer serves the requests that follow. */
  const readInTime = (name: string): Promise<State> => {
    const reading = fetchState(name);
    const state = withTimeout(clock, READ_TIMEOUT_MS, reading).then((read) => read?.value);
    const at = clock.now();
    readings.set(name, { at, state });
    void reading.then(() => {
      if (readings.get(name)?.state === state) readings.set(name, { at, state: reading });
    });
    return state;
  };

  return {
    /** At most two seconds old; undefined, as for a closed breaker, when the store does not answer in time. */
    read: (name: string): Promise<State> => {
      const known = readings.get(name);
      return known && clock.now() - known.at < FRESH_MS ? known.state : readInTime(name);
    },
    known: (name: string): State => latest.get(name),
    /** Writes the transition that follows version `seen`; undefined if it could not be, or came too late. */
    transition: async (
      name: string,
      next: Omit<BreakerState, 'version'>,
      seen: number,
    ): Promise<State> => {
      const state = { ...next, version: seen + 1 };
      const set = () =>
        readings.set(name, { at: clock.now(), state: Promise.resolve(keep(name, state)) });
      // At once, so that the other calls of this environment do not write the same transition.
      set();
      const writing = store.transitionBreaker(name, next, seen);
      const written = await tryFor(clock, WRITE_TIMEOUT_MS, writing);
      if (written?.value) {
        set();
        return state;
      }
      if (!written) log.warn('breaker_unwritable', { target: name });
      // Another environment was first, or the store failed: read before the next request.
      forget(name);
      return undefined;
    },
    /** Returns whether this process got the one probe of a half-open breaker. */
    takeProbe: async (name: string): Promise<boolean> => {
      const now = clock.now();
      const taking = store.takeProbe(name, now, now + PROBE_MS);
      return (await tryFor(clock, READ_TIMEOUT_MS, taking))?.value ?? true;
    },
  };
};
