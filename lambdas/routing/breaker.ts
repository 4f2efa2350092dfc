import type { Target } from '../catalog/catalog.ts';
import type { BreakerState, BreakerStore } from '../stores/breaker-store.ts';
import type { Clock } from '../support/clock.ts';
import type { RandomBytes } from '../support/ids.ts';
import type { Log } from '../support/log.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import {
  createConnectionBreakers,
  createCredentialBreakers,
  createProjectBreakers,
  nameOf,
} from './local-breakers.ts';
import {
  allOf,
  type LocalPermit,
  ordinaryPermit,
  type Permit,
  type PermitParts,
  probePermit,
  tricklePermit,
} from './permits.ts';
import { createSharedStates, FRESH_MS } from './shared-states.ts';
import { createTargetHealth, type TargetHealth } from './target-health.ts';
import type { TripRule } from './trip-policy.ts';

/** A target that must not be called for another `waitMs`, and which of its breakers is open. */
export type OpenBreaker = {
  target: Target;
  waitMs: number;
  of: 'target' | 'credential' | 'connection' | 'project';
};

export type Acquired = { isOpen: false; permit: Permit } | ({ isOpen: true } & OpenBreaker);

/**
 * Keeps requests away from targets that fail. A target has one breaker that all environments share, written
 * only at a transition and opened only by what one project or one environment cannot cause; and three kinds that
 * are local to this environment: for a project whose requests fail alone, for a version of a credential, and for
 * connections that fail. It is an optimisation: where its store fails, the shared one is closed.
 */
export type Breaker = {
  /** Starts to read the states of `targets`, so that they are read before they are needed. */
  prefetch(targets: Target[]): void;
  acquire(target: Target, projectId: string): Promise<Acquired>;
  /** Whether the target must not be called now. Takes no probe: for calls that tell nothing about its health. */
  isOpen(target: Target, projectId: string): Promise<boolean>;
  /**
   * Returns the best of a model's targets whose breakers are all open, about once a second; undefined for
   * all other requests.
   */
  acquireTrickle(
    open: OpenBreaker[],
    projectId: string,
  ): Promise<{ target: Target; permit: Permit } | undefined>;
};

// --- trickle ---

/**
 * Lets single requests through to a model whose breakers are all open, so that no error of a breaker leaves
 * a model without a target.
 */
type Trickle = {
  /** An attempt on the target began; the next request of the trickle goes a second later. */
  note(target: string): void;
  /** Returns undefined, or the place taken, to be released at the end of the call. */
  take(target: string, projectId: string): (() => void) | undefined;
};

const INTERVAL_MS = 1_000;
/** A call whose end was never reported; longer than the longest first-event timeout. */
const HELD_MS = 130_000;
/** One of each project: a project whose requests hang cannot take the places of others. */
const MAX_PLACES = 4;

const createTrickle = (clock: Clock): Trickle => {
  // As many entries as the catalog has targets.
  const attemptAt = new Map<string, number>();
  const places = new Map<string, Map<string, number>>();

  const placesOf = (target: string): Map<string, number> => {
    const taken = places.get(target) ?? new Map<string, number>();
    for (const [projectId, at] of taken) {
      if (clock.now() - at >= HELD_MS) taken.delete(projectId);
    }
    places.set(target, taken);
    return taken;
  };

  return {
    note: (target) => void attemptAt.set(target, clock.now()),
    take: (target, projectId) => {
      const now = clock.now();
      const taken = placesOf(target);
      if (now - (attemptAt.get(target) ?? 0) < INTERVAL_MS) return undefined;
      if (taken.size >= MAX_PLACES || taken.has(projectId)) return undefined;
      attemptAt.set(target, now);
      taken.set(projectId, now);
      return () => {
        if (taken.get(projectId) === now) taken.delete(projectId);
      };
    },
  };
};

// --- breaker ---

/** Spread, so that environments do not probe all at once. */
const JITTER = 0.2;

/** The breaker that opens up first; the order of the catalog decides between equals. */
const soonest = (open: OpenBreaker[]): OpenBreaker | undefined =>
  // A project that is held off is its own cause, and waits.
  open.filter(({ of }) => of !== 'project').toSorted((one, two) => one.waitMs - two.waitMs)[0];

const release = (free: () => void): LocalPermit => ({
  onStart: free,
  onSuccess: free,
  onFailure: free,
  onAbandon: free,
});

type BreakerParts = {
  store: BreakerStore;
  upstream: Pick<Upstream, 'credentialVersion'>;
  clock: Clock;
  randomBytes: RandomBytes;
  log: Log;
};

const createJitter = (randomBytes: RandomBytes) => (ms: number) => {
  const [byte = 0] = randomBytes(1);
  return Math.round(ms * (1 - JITTER + (2 * JITTER * byte) / 255));
};

/** What the permits of one environment share. */
const createPermitParts = (parts: BreakerParts) => {
  const { clock, randomBytes, log, upstream } = parts;
  const jittered = createJitter(randomBytes);
  const states = createSharedStates(parts);
  const { credentialVersion } = upstream;
  const credentials = createCredentialBreakers({ credentialVersion, clock, log, jittered });
  const projects = createProjectBreakers({ clock, log, jittered });
  const connections = createConnectionBreakers({ states, clock, log, jittered });
  // As many entries as the catalog has targets.
  const healths = new Map<string, TargetHealth>();

  const healthOf = (name: string): TargetHealth => {
    const health = healths.get(name) ?? createTargetHealth(clock);
    healths.set(name, health);
    return health;
  };

  const trip = async (name: string, rule: TripRule, from: BreakerState | undefined) => {
    healthOf(name).reset();
    const openings = from?.openings ?? 0;
    const next = {
      openUntil: clock.now() + jittered(rule.openMs(openings)),
      openings: openings + 1,
    };
    const opened = await states.transition(name, next, from?.version ?? 0);
    if (opened) log.warn('breaker_opened', { target: name, ...next });
  };

  const partsFor = (target: Target, projectId: string): PermitParts => {
    const name = nameOf(target);
    return {
      name,
      projectId,
      health: healthOf(name),
      states,
      trip: (rule, from) => trip(name, rule, from),
      refuseCredential: (rule, failure) =>
        credentials.open(target, failure.credentialVersion, rule),
      holdOff: (rule) => projects.holdOff(name, projectId, rule),
      isUnreachableForOthers: (rule) => connections.open(name, rule),
      clock,
      log,
    };
  };
  return { states, credentials, projects, connections, partsFor };
};

export const createBreaker = (parts: BreakerParts): Breaker => {
  const { clock } = parts;
  const { states, credentials, projects, connections, partsFor } = createPermitParts(parts);
  const trickle = createTrickle(clock);

  const localPermits = (target: Target, projectId: string): LocalPermit[] => [
    credentials.enter(target),
    connections.enter(nameOf(target)),
    projects.enter(nameOf(target), projectId),
  ];

  /** The permit of the shared breaker's one probe, or for how long it is open. */
  const acquireProbe = async (
    parts: PermitParts,
    state: BreakerState,
  ): Promise<Permit | number> => {
    const waitMs = state.openUntil - clock.now();
    if (waitMs > 0) return waitMs;
    return (await states.takeProbe(parts.name)) ? probePermit(parts, state) : FRESH_MS;
  };

  /** An open breaker of this environment. */
  const findLocal = (target: Target, projectId: string): OpenBreaker | undefined => {
    const heldMs = projects.waitMs(nameOf(target), projectId);
    if (heldMs > 0) return { target, waitMs: heldMs, of: 'project' };
    const refusedMs = credentials.waitMs(target);
    if (refusedMs > 0) return { target, waitMs: refusedMs, of: 'credential' };
    const unreachableMs = connections.waitMs(nameOf(target));
    return unreachableMs > 0 ? { target, waitMs: unreachableMs, of: 'connection' } : undefined;
  };

  const isOpen = async (target: Target, projectId: string): Promise<boolean> => {
    if (findLocal(target, projectId)) return true;
    const state = await states.read(nameOf(target));
    return (state?.openUntil ?? 0) > clock.now();
  };

  const acquire = async (target: Target, projectId: string): Promise<Acquired> => {
    const open = findLocal(target, projectId);
    if (open) return { isOpen: true, ...open };
    // Entered before the shared state is awaited, so that only one call is a local probe.
    const local = localPermits(target, projectId);
    const state = await states.read(nameOf(target));
    const permitParts = partsFor(target, projectId);
    const shared =
      state && state.openUntil > 0
        ? await acquireProbe(permitParts, state)
        : ordinaryPermit(permitParts, state);
    if (typeof shared === 'number') {
      for (const permit of local) permit.onAbandon();
      return { isOpen: true, target, waitMs: shared, of: 'target' };
    }
    trickle.note(nameOf(target));
    return { isOpen: false, permit: allOf(local, shared) };
  };

  const acquireTrickle: Breaker['acquireTrickle'] = async (open, projectId) => {
    const best = soonest(open);
    const free = best && trickle.take(nameOf(best.target), projectId);
    if (!free) return undefined;
    const { target } = best;
    const state = await states.read(nameOf(target));
    const permitParts = partsFor(target, projectId);
    const shared =
      state && state.openUntil > 0
        ? tricklePermit(permitParts, state)
        : ordinaryPermit(permitParts, state);
    return { target, permit: allOf([release(free), ...localPermits(target, projectId)], shared) };
  };

  return {
    prefetch: (targets) => {
      for (const target of targets) void states.read(nameOf(target));
    },
    acquire,
    isOpen,
    acquireTrickle,
  };
};
