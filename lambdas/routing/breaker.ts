import type { Target } from '../catalog/catalog.ts';
import type { UpstreamFault } from '../protocols/upstream-fault.ts';
import type { BreakerState, BreakerStore } from '../stores/breaker-store.ts';
import type { Clock } from '../support/clock.ts';
import type { RandomBytes } from '../support/ids.ts';
import type { Log } from '../support/log.ts';
import { createTargetHealth, type TargetHealth } from './target-health.ts';
import { tripRuleFor } from './trip-policy.ts';

/** Leave to call a target once. Exactly one of the two is said, if anything. */
export type Pass = { succeeded(): void; failed(fault: UpstreamFault): void };

export type Gate =
  | { isOpen: false; pass: Pass }
  /** Nobody may call the target for `waitMs` more. */
  | { isOpen: true; waitMs: number };

/**
 * Keeps requests away from targets that fail. One breaker a target, shared by all environments and
 * written only when it turns. It is an optimisation: where its store fails, it is closed.
 */
export type Breaker = {
  /** Starts to read the states of `targets`, so that they are at hand when asked for. */
  expect(targets: Target[]): void;
  enter(target: Target): Promise<Gate>;
};

/** A state is this old at most; another environment's trip is seen no later. */
const FRESH_MS = 2_000;
/** A probe that dies frees its place after as long as an upstream may take to begin. */
const PROBE_MS = 120_000;
/** Spread, so that environments do not come back all at once. */
const JITTER = 0.2;

type Known = { state: BreakerState | undefined; readAt: number };

export const createBreaker = (parts: {
  store: BreakerStore;
  clock: Clock;
  randomBytes: RandomBytes;
  log: Log;
}): Breaker => {
  const { store, clock, randomBytes, log } = parts;
  // As many entries as the catalog has targets.
  const states = new Map<string, Promise<Known>>();
  const healths = new Map<string, TargetHealth>();

  const healthOf = (name: string): TargetHealth => {
    const health = healths.get(name) ?? createTargetHealth(clock);
    healths.set(name, health);
    return health;
  };

  const read = async (name: string): Promise<Known> => {
    const readAt = clock.now();
    try {
      return { state: await store.readBreaker(name), readAt };
    } catch {
      log.warn('breaker_unreadable', { target: name });
      return { state: undefined, readAt };
    }
  };

  const stateOf = async (name: string): Promise<BreakerState | undefined> => {
    const known = await states.get(name);
    if (known && clock.now() - known.readAt < FRESH_MS) return known.state;
    const reading = read(name);
    states.set(name, reading);
    return (await reading).state;
  };

  /** Writes a transition; what others wrote meanwhile is read before the next request. */
  const turn = async (name: string, next: { openUntil: number; openings: number }) => {
    const seen = (await states.get(name))?.state?.version ?? 0;
    try {
      const isOurs = await store.turnBreaker(name, next, seen);
      if (isOurs) {
        const state = { ...next, version: seen + 1 };
        states.set(name, Promise.resolve({ state, readAt: clock.now() }));
        log.warn(next.openUntil > 0 ? 'breaker_opened' : 'breaker_closed', {
          target: name,
          ...next,
        });
      } else states.delete(name);
    } catch {
      log.warn('breaker_unwritable', { target: name });
    }
  };

  const jittered = (ms: number): number => {
    const [byte = 0] = randomBytes(1);
    return Math.round(ms * (1 - JITTER + (2 * JITTER * byte) / 255));
  };

  const passFor = (name: string, state: BreakerState | undefined): Pass => {
    const health = healthOf(name);
    const isProbe = state !== undefined && state.openUntil > 0;
    return {
      succeeded: () => {
        health.succeeded();
        if (isProbe) void turn(name, { openUntil: 0, openings: 0 });
      },
      failed: (fault) => {
        const rule = tripRuleFor(fault);
        if (!rule) return;
        const isTripped = health.failed(rule.after) || isProbe;
        if (!isTripped) return;
        health.reset();
        const openings = state?.openings ?? 0;
        const openUntil = clock.now() + jittered(rule.openMs(openings));
        void turn(name, { openUntil, openings: openings + 1 });
      },
    };
  };

  const takesProbe = async (name: string, now: number): Promise<boolean> => {
    try {
      return await store.takeProbe(name, now, now + PROBE_MS);
    } catch {
      return true;
    }
  };

  return {
    expect: (targets) => {
      for (const target of targets) void stateOf(nameOf(target));
    },
    enter: async (target) => {
      const name = nameOf(target);
      const state = await stateOf(name);
      const now = clock.now();
      const openUntil = state?.openUntil ?? 0;
      if (openUntil > now) return { isOpen: true, waitMs: openUntil - now };
      if (openUntil > 0 && !(await takesProbe(name, now)))
        return { isOpen: true, waitMs: FRESH_MS };
      return { isOpen: false, pass: passFor(name, state) };
    },
  };
};

const nameOf = ({ upstream, model }: Target): string => `${upstream}/${model}`;
