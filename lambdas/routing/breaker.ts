import type { Target } from '../catalog/catalog.ts';
import type { BreakerState, BreakerStore } from '../stores/breaker-store.ts';
import type { Clock } from '../support/clock.ts';
import type { RandomBytes } from '../support/ids.ts';
import type { Log } from '../support/log.ts';
import { ordinaryPermit, type Permit, type PermitParts, probePermit } from './permits.ts';
import { createSharedStates, FRESH_MS } from './shared-states.ts';
import { createTargetHealth, type TargetHealth } from './target-health.ts';
import type { TripRule } from './trip-policy.ts';

export type Acquired =
  | { isOpen: false; permit: Permit }
  /** The target must not be called for another `waitMs`. */
  | { isOpen: true; waitMs: number };

/**
 * Keeps requests away from targets that fail. One breaker a target, shared by all environments and
 * written only at a transition. It is an optimisation: where its store fails, it is closed.
 */
export type Breaker = {
  /** Starts to read the states of `targets`, so that they are read before they are needed. */
  prefetch(targets: Target[]): void;
  acquire(target: Target): Promise<Acquired>;
};

/** Spread, so that environments do not probe all at once. */
const JITTER = 0.2;

const nameOf = ({ upstream, model }: Target): string => `${upstream}/${model}`;

export const createBreaker = (parts: {
  store: BreakerStore;
  clock: Clock;
  randomBytes: RandomBytes;
  log: Log;
}): Breaker => {
  const { clock, randomBytes, log } = parts;
  const states = createSharedStates(parts);
  // As many entries as the catalog has targets.
  const healths = new Map<string, TargetHealth>();

  const healthOf = (name: string): TargetHealth => {
    const health = healths.get(name) ?? createTargetHealth(clock);
    healths.set(name, health);
    return health;
  };

  const jittered = (ms: number): number => {
    const [byte = 0] = randomBytes(1);
    return Math.round(ms * (1 - JITTER + (2 * JITTER * byte) / 255));
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

  const partsFor = (name: string): PermitParts => ({
    name,
    health: healthOf(name),
    states,
    trip: (rule, from) => trip(name, rule, from),
    clock,
    log,
  });

  return {
    prefetch: (targets) => {
      for (const target of targets) void states.read(nameOf(target));
    },
    acquire: async (target) => {
      const name = nameOf(target);
      const state = await states.read(name);
      if (!state || state.openUntil === 0) {
        return { isOpen: false, permit: ordinaryPermit(partsFor(name), state) };
      }
      const waitMs = state.openUntil - clock.now();
      if (waitMs > 0) return { isOpen: true, waitMs };
      if (!(await states.takeProbe(name))) return { isOpen: true, waitMs: FRESH_MS };
      return { isOpen: false, permit: probePermit(partsFor(name), state) };
    },
  };
};
