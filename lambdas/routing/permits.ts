import type { UpstreamError } from '../protocols/upstream-error.ts';
import type { BreakerState } from '../stores/breaker-store.ts';
import type { Clock } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import type { SharedStates, Transition } from './shared-states.ts';
import type { TargetHealth } from './target-health.ts';
import { provesTargetAlive, type TripRule, tripRuleFor } from './trip-policy.ts';

/**
 * Leave to call a target once, and how that went: `began` and then one of the others. They resolve when
 * what they change is written, and are waited for: Lambda freezes whatever is not.
 */
export type Permit = {
  /** The first content is there. */
  onStart(): Promise<void>;
  onSuccess(): Promise<void>;
  onFailure(fault: UpstreamError): Promise<void>;
  /** Nobody waited for the end, which says nothing about the target. */
  onAbandon(): Promise<void>;
};

export type PermitParts = {
  name: string;
  health: TargetHealth;
  states: SharedStates;
  /** Opens the breaker after `from`, for as long as the rule says. */
  trip(rule: TripRule, from: BreakerState | undefined): Promise<void>;
  clock: Clock;
  log: Log;
};

const CLOSED: Transition = { openUntil: 0, openings: 0 };

const transitionOf = ({ openUntil, openings }: BreakerState): Transition => ({
  openUntil,
  openings,
});

/** The pass of an ordinary call, while the breaker is closed. */
export const ordinaryPermit = (parts: PermitParts, found: BreakerState | undefined): Permit => {
  const { name, health, states, trip, clock } = parts;
  return {
    onStart: async () => {},
    onSuccess: async () => {
      health.succeeded();
      if (found && found.openings > 0) await states.transition(name, CLOSED, found.version);
    },
    onFailure: async (fault) => {
      const rule = tripRuleFor(fault);
      if (!rule) return;
      const isTooMany = health.failed(rule.after);
      const state = await states.read(name);
      // Calls that were under way when it opened have nothing new to say.
      if (state && state.openUntil > clock.now()) return;
      // Until an answer has finished after an outage, one failure is enough.
      const isOnProbation = state !== undefined && state.openings > 0;
      if (isTooMany || isOnProbation) await trip(rule, state);
    },
    onAbandon: async () => {},
  };
};

/** The pass of the one probe that finds out whether the target is back. */
export const probePermit = (parts: PermitParts, found: BreakerState): Permit => {
  const { name, health, states, trip, log } = parts;
  let state: BreakerState | undefined = found;
  // If another environment wrote first, this probe's result no longer counts.
  const transition = async (next: Transition) => {
    if (state) state = await states.transition(name, next, state.version);
  };
  const close = async (next: Transition) => {
    await transition(next);
    if (state) log.warn('breaker_closed', { target: name, ...next });
  };
  /** Writes the same state again, which removes `probeUntil`, so another probe may go. */
  const release = async () => {
    if (state && state.openUntil > 0) await transition(transitionOf(state));
  };
  return {
    // Close now, so that others may use the target while this answer (minutes) goes on. Keep `openings`
    // until it has finished.
    onStart: () => close({ openUntil: 0, openings: found.openings }),
    onSuccess: async () => {
      health.succeeded();
      await transition(CLOSED);
    },
    onFailure: async (fault) => {
      const rule = tripRuleFor(fault);
      if (rule) return state && trip(rule, state);
      return provesTargetAlive(fault) ? close(CLOSED) : release();
    },
    onAbandon: release,
  };
};
