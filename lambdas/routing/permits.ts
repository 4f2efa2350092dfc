import type { UpstreamError } from '../protocols/rejections/upstream-error.ts';
import type { BreakerState } from '../stores/breaker-store.ts';
import type { Clock } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import type { SharedStates, Transition } from './shared-states.ts';
import type { TargetHealth } from './target-health.ts';
import { provesTargetAlive, type TripRule, tripRuleFor } from './trip-policy.ts';

type Reports<Result> = {
  /** The first content has arrived. */
  onStart(): Result;
  onSuccess(): Result;
  onFailure(failure: UpstreamError): Result;
  /** The client disconnected, which is not evidence about the target. */
  onAbandon(): Result;
};

/**
 * One permitted call through the breaker. Report `onStart`, then exactly one of the others. They resolve
 * when the transition is written and must be awaited: Lambda freezes pending writes after the response.
 */
export type Permit = Reports<Promise<void>>;

/** The same through a breaker of this environment alone, which writes nothing. */
export type LocalPermit = Reports<void>;

export type PermitParts = {
  name: string;
  projectId: string;
  health: TargetHealth;
  states: SharedStates;
  /** Opens the breaker after `from`, for the length of the rule. */
  trip(rule: TripRule, from: BreakerState | undefined): Promise<void>;
  /** Opens the breaker of the credential that the failed call used. */
  refuseCredential(rule: TripRule, failure: UpstreamError): void;
  /** Opens the breaker of the call's project alone. */
  holdOff(rule: TripRule): void;
  /** Opens the breaker of this environment's connections; returns whether another one cannot connect either. */
  isUnreachableForOthers(rule: TripRule): Promise<boolean>;
  clock: Clock;
  log: Log;
};

const CLOSED: Transition = { openUntil: 0, openings: 0 };

const transitionOf = ({ openUntil, openings }: BreakerState): Transition => ({
  openUntil,
  openings,
});

/** Reports to each permit, in order. */
export const allOf = (local: LocalPermit[], shared: Permit): Permit => {
  const each = (report: <Result>(permit: Reports<Result>) => Result): Promise<void> => {
    for (const permit of local) report(permit);
    return report(shared);
  };
  return {
    onStart: () => each((permit) => permit.onStart()),
    onSuccess: () => each((permit) => permit.onSuccess()),
    onFailure: (failure) => each((permit) => permit.onFailure(failure)),
    onAbandon: () => each((permit) => permit.onAbandon()),
  };
};

/** Counts a failure; opens the credential's breaker if that is what it proves. Returns its rule otherwise. */
const countFailure = (parts: PermitParts, failure: UpstreamError): TripRule | undefined => {
  const rule = tripRuleFor(failure);
  if (!rule) return undefined;
  parts.health.failed(parts.projectId, rule);
  if (rule.opens !== 'credential') return rule;
  if (parts.health.isFailingForSeveral(rule)) parts.refuseCredential(rule, failure);
  return undefined;
};

/** Whether failures that open a breaker open that of all environments. */
const concernsAll = async (parts: PermitParts, rule: TripRule): Promise<boolean> =>
  rule.opens !== 'connection' || parts.isUnreachableForOthers(rule);

/** Permit of a call while the breaker is closed. */
export const ordinaryPermit = (parts: PermitParts, found: BreakerState | undefined): Permit => {
  const { name, projectId, health, states, trip, clock } = parts;
  return {
    onStart: async () => {},
    onSuccess: async () => {
      health.succeeded(projectId);
      if (found && found.openings > 0) await states.transition(name, CLOSED, found.version);
    },
    onFailure: async (failure) => {
      const rule = countFailure(parts, failure);
      if (!rule) return;
      const state = await states.read(name);
      // Already open: a call that was in flight when it opened adds no evidence.
      if (state && state.openUntil > clock.now()) return;
      // After an outage one failure is enough, until a response has finished.
      const after = state !== undefined && state.openings > 0 ? 1 : rule.after;
      if (!health.isFailingForSeveral({ ...rule, after })) return;
      if (await concernsAll(parts, rule)) await trip(rule, state);
    },
    onAbandon: async () => {},
  };
};

/** Permit of the one probe of a half-open breaker. */
export const probePermit = (parts: PermitParts, found: BreakerState): Permit => {
  const { name, projectId, health, states, trip, holdOff, log } = parts;
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
    // Closes at the first content, so that other calls may use the target while this response (minutes)
    // continues. Keeps `openings` until it has finished.
    onStart: () => close({ openUntil: 0, openings: found.openings }),
    onSuccess: async () => {
      health.succeeded(projectId);
      await transition(CLOSED);
    },
    onFailure: async (failure) => {
      if (provesTargetAlive(failure)) return close(CLOSED);
      const rule = countFailure(parts, failure);
      if (!rule) return release();
      const isEvidence = health.isFailingForSeveral({ ...rule, after: 1 });
      if (isEvidence && (await concernsAll(parts, rule))) return state && trip(rule, state);
      // The request may have caused it, or this environment: the probe of another one goes next.
      if (!isEvidence) holdOff(rule);
      await release();
    },
    onAbandon: release,
  };
};

/** Permit of a call while the breaker is open. A failure adds nothing to that. */
export const tricklePermit = (parts: PermitParts, found: BreakerState): Permit => {
  const { onStart, onSuccess } = probePermit(parts, found);
  return {
    onStart,
    onSuccess,
    onFailure: async (failure) => {
      if (provesTargetAlive(failure)) return onStart();
      const rule = countFailure(parts, failure);
      if (rule?.mayBeRequest) parts.holdOff(rule);
    },
    onAbandon: async () => {},
  };
};
