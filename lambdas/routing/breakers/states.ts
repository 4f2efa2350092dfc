import { nameOf, type Target } from '../../catalog/catalog.ts';
import type { BreakerState, BreakerStore } from '../../stores/notes.ts';
import { type Clock, tryFor, withTimeout } from '../../support/clock.ts';
import type { Log } from '../../support/log.ts';
import { createLruCache, oncePer } from '../../support/memo.ts';
import type { TripRule } from './trip-rules.ts';

/** Whose a call is. */
export type Owner = { projectId: string; keyId: string };

export type Asker = Owner & {
  /** Those that the request may try: where there is one, a breaker protects the provider alone. */
  targets: readonly Target[];
};

/** A failed call. `by` is whose it was: a key for the rows of keys and projects, a project for that of a target. */
export type Failure = {
  /** Milliseconds. */
  at: number;
  by: string;
  category: TripRule['category'];
  /** Whether the response broke off: only one that ends well disproves it. */
  hadContent: boolean;
};

/** Failures since the last success, oldest first. */
export type Row = Failure[];

type Recent = { at: number; by: string; hasFailed: boolean };
/** The last calls, oldest first, with others before those that count. */
export type RecentCalls = Recent[];

const RECENT_MS = 10_000;
const MAX_RECENT = 50;

/** Appends in place, and removes many at once: a target is called hundreds of times a second. */
export const addRecent = (calls: RecentCalls, call: Recent): void => {
  if (calls.length >= 2 * MAX_RECENT) calls.splice(0, MAX_RECENT);
  calls.push(call);
};

/** The last 50 calls, of the last ten seconds. */
export const recentIn = (calls: RecentCalls, now: number): RecentCalls =>
  calls.slice(-MAX_RECENT).filter(({ at }) => at > now - RECENT_MS);

/** Whose a call through an open breaker is; undefined where all calls are those of one. */
export type Taker = string | undefined;

/** The calls through an open breaker: one a second, in turns of those who ask. */
export type Turns = {
  at: number;
  /** Whose the last call was. */
  by: Taker;
  /** When another was first denied since. */
  deniedAt: number | undefined;
};

const newTurns = (): Turns => ({
  at: Number.NEGATIVE_INFINITY,
  by: undefined,
  deniedAt: undefined,
});

export const takeTurn = (turns: Turns, by: Taker, now: number): void => {
  turns.at = now;
  turns.by = by;
  turns.deniedAt = undefined;
};

/** Of one breaker in this environment. */
export type Pace = {
  turns: Turns;
  /** Until when calls are limited and counted: while the breaker is open, and some seconds longer. */
  until: number;
  /** Times of calls and of first contents within the last seconds. */
  calls: number[];
  starts: number[];
};

export const newPace = (): Pace => ({ turns: newTurns(), until: 0, calls: [], starts: [] });

export const isPaced = ({ until }: Pace, now: number): boolean => now < until;

/** Open until `openUntil` (ms), then half-open; 0 when closed. `openings` counts those in a row. */
export type Opening = { openUntil: number; openings: number };

/**
 * A breaker of this environment alone: of a key or a project on a target, of a version of a target's credential, or of
 * this environment's connections to a target.
 */
export type LocalBreaker = Opening & { row: Row; category: TripRule['category']; pace: Pace };

/** What this environment knows of a target, whose breaker all environments share. */
export type Health = {
  row: Row;
  recent: RecentCalls;
  pace: Pace;
  /** The breaker was opened here, by responses that broke off: another one that begins does not close it. */
  isBroken: boolean;
  /** Of any call: no local breaker on the target is older. */
  failedAt: number;
};

/** Longer than a failure counts and a breaker stays open. */
const FAILURE_MS = 15 * 60_000;

/** Whether a breaker of this environment may concern the target: a call of a healthy one looks none up. */
export const hasFailed = ({ failedAt }: Health, now: number): boolean =>
  now - failedAt < FAILURE_MS;

/** An opening that ended so long ago says nothing any more. */
const MEMORY_MS = 30_000;

export const isShut = ({ openUntil }: Opening, now: number): boolean =>
  openUntil > 0 && now <= openUntil + MEMORY_MS;

/** Entries exist for what failed; at about 1 KB each, 4 MB at most. */
const MAX_ENTRIES = 4_000;

/** The names of the breakers that concern a call, from the narrowest level to the widest. */
export const breakerNames = {
  key: (target: Target, { keyId }: Owner) => `key ${keyId} ${nameOf(target)}`,
  project: (target: Target, { projectId }: Owner) => `project ${projectId} ${nameOf(target)}`,
  credential: (target: Target, version: string | undefined) =>
    `credential ${version} ${nameOf(target)}`,
  connection: (target: Target) => `connection ${nameOf(target)}`,
};

const newBreaker = (): LocalBreaker => ({
  openUntil: 0,
  openings: 0,
  row: [],
  category: 'failure',
  pace: newPace(),
});

const newHealth = (): Health => ({
  row: [],
  recent: [],
  pace: newPace(),
  isBroken: false,
  failedAt: Number.NEGATIVE_INFINITY,
});

export type LocalBreakers = ReturnType<typeof createLocalBreakers>;

/** The breakers of one environment, and its healths of the targets. */
export const createLocalBreakers = () => {
  const breakers = createLruCache<LocalBreaker>(MAX_ENTRIES);
  // As many entries as the catalog has targets.
  const healths = oncePer(new Map<string, Health>(), newHealth);
  return {
    find: breakers.get,
    ensure: oncePer(breakers, newBreaker),
    remove: breakers.delete,
    healthOf: (target: Target): Health => healths(nameOf(target)),
  };
};

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
    /** What was read or written last, without waiting. */
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
