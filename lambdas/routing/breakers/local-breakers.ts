import { nameOf, type Target } from '../../catalog/catalog.ts';
import { createLruCache, oncePer } from '../../support/memo.ts';
import { newPace, type Pace } from './pace.ts';
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

/** A call of the last seconds. */
type Recent = { at: number; by: string; hasFailed: boolean };
export type RecentCalls = Recent[];

export const RECENT_MS = 10_000;
const MAX_RECENT = 50;

/** Appends in place: a target is called hundreds of times a second. */
export const addRecent = (calls: RecentCalls, call: Recent): void => {
  const since = call.at - RECENT_MS;
  while (calls[0] && (calls[0].at <= since || calls.length >= MAX_RECENT)) calls.shift();
  calls.push(call);
};

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
