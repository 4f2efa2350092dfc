import type { Target } from '../catalog/catalog.ts';
import type { UpstreamFault } from '../protocols/upstream-fault.ts';
import type { BreakerState, BreakerStore } from '../stores/breaker-store.ts';
import type { Clock } from '../support/clock.ts';
import type { RandomBytes } from '../support/ids.ts';
import type { Log } from '../support/log.ts';
import { createSharedStates, FRESH_MS, type Transition } from './shared-states.ts';
import { createTargetHealth, type TargetHealth } from './target-health.ts';
import { saysItIsThere, type TripRule, tripRuleFor } from './trip-policy.ts';

/**
 * Leave to call a target once, and how that went: `began` and then one of the others. They resolve when
 * what they change is written, and are waited for: Lambda freezes whatever is not.
 */
export type Pass = {
  /** The first content is there. */
  began(): Promise<void>;
  finished(): Promise<void>;
  failed(fault: UpstreamFault): Promise<void>;
  /** Nobody waited for the end, which says nothing about the target. */
  left(): Promise<void>;
};

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

/** Spread, so that environments do not come back all at once. */
const JITTER = 0.2;

const CLOSED: Transition = { openUntil: 0, openings: 0 };

const transitionOf = ({ openUntil, openings }: BreakerState): Transition => ({
  openUntil,
  openings,
});

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
    const turned = await states.turn(name, next, from?.version ?? 0);
    if (turned) log.warn('breaker_opened', { target: name, ...next });
  };

  /** Of one of the many calls while the breaker is closed. */
  const ordinaryPass = (name: string, found: BreakerState | undefined): Pass => ({
    began: async () => {},
    finished: async () => {
      healthOf(name).succeeded();
      if (found && found.openings > 0) await states.turn(name, CLOSED, found.version);
    },
    failed: async (fault) => {
      const rule = tripRuleFor(fault);
      if (!rule) return;
      const isTooMany = healthOf(name).failed(rule.after);
      const state = await states.read(name);
      // Calls that were under way when it opened have nothing new to say.
      if (state && state.openUntil > clock.now()) return;
      // Until an answer has finished after an outage, one failure is enough.
      const isOnProbation = state !== undefined && state.openings > 0;
      if (isTooMany || isOnProbation) await trip(name, rule, state);
    },
    left: async () => {},
  });

  /** Of the one call that finds out whether the target is back. */
  const probePass = (name: string, found: BreakerState): Pass => {
    let state: BreakerState | undefined = found;
    // A transition that came too late ends the say of this probe: others have gone on meanwhile.
    const turn = async (next: Transition) => {
      if (state) state = await states.turn(name, next, state.version);
    };
    const close = async (next: Transition) => {
      await turn(next);
      if (state) log.warn('breaker_closed', { target: name, ...next });
    };
    /** The same again, which frees the place of the probe. */
    const release = async () => {
      if (state && state.openUntil > 0) await turn(transitionOf(state));
    };
    return {
      // Others may come at once, the answer may take minutes; how often it opened is not forgotten yet.
      began: () => close({ openUntil: 0, openings: found.openings }),
      finished: async () => {
        healthOf(name).succeeded();
        await turn(CLOSED);
      },
      failed: async (fault) => {
        const rule = tripRuleFor(fault);
        if (rule) return state && trip(name, rule, state);
        return saysItIsThere(fault) ? close(CLOSED) : release();
      },
      left: release,
    };
  };

  return {
    expect: (targets) => {
      for (const target of targets) void states.read(nameOf(target));
    },
    enter: async (target) => {
      const name = nameOf(target);
      const state = await states.read(name);
      if (!state || state.openUntil === 0) {
        return { isOpen: false, pass: ordinaryPass(name, state) };
      }
      const waitMs = state.openUntil - clock.now();
      if (waitMs > 0) return { isOpen: true, waitMs };
      if (!(await states.takeProbe(name))) return { isOpen: true, waitMs: FRESH_MS };
      return { isOpen: false, pass: probePass(name, state) };
    },
  };
};
