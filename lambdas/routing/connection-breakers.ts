import type { Clock } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import { createLocalBreaker, type LocalBreaker } from './local-breaker.ts';
import type { Permit } from './permits.ts';
import type { SharedStates } from './shared-states.ts';
import type { TripRule } from './trip-policy.ts';

/**
 * Breakers of targets that this environment cannot connect to. Its own network may be the cause, so that the
 * breaker of all environments opens only when two of them have reported the same target.
 */
export type ConnectionBreakers = {
  waitMs(target: string): number;
  enter(target: string): Permit;
  /** Opens here, and reports the target; returns whether another environment has reported it too. */
  open(target: string, rule: TripRule): Promise<boolean>;
};

/** Longer than a breaker stays open at most, so that a report is still known when its probe fails. */
const REPORT_MS = 3 * 60_000;

/** A report is a shared state like that of a breaker; no target has such a name. */
const reportOf = (target: string): string => `unreachable ${target}`;

export const createConnectionBreakers = (parts: {
  states: SharedStates;
  clock: Clock;
  log: Log;
  jittered: (ms: number) => number;
}): ConnectionBreakers => {
  const { states, clock, log, jittered } = parts;
  // As many entries as the catalog has targets.
  const breakers = new Map<string, LocalBreaker>();
  /** Versions of this environment's own reports. */
  const reported = new Map<string, number>();

  const report = async (target: string): Promise<boolean> => {
    const name = reportOf(target);
    const found = await states.read(name);
    const now = clock.now();
    const isConfirmed =
      found !== undefined && found.openUntil > now && found.version !== reported.get(target);
    const next = { openUntil: now + REPORT_MS, openings: 0 };
    const written = await states.transition(name, next, found?.version ?? 0);
    if (written) reported.set(target, written.version);
    return isConfirmed;
  };

  return {
    waitMs: (target) => breakers.get(target)?.waitMs() ?? 0,
    enter: (target) => {
      const breaker = breakers.get(target);
      const isProbe = breaker?.enter() ?? false;
      const connected = async () => {
        if (breakers.get(target) === breaker) breakers.delete(target);
      };
      const release = async () => {
        if (isProbe) breaker?.release();
      };
      return {
        onStart: connected,
        onSuccess: connected,
        onFailure: ({ kind }) => (kind === 'connect' ? release() : connected()),
        onAbandon: release,
      };
    },
    open: async (target, rule) => {
      const breaker = breakers.get(target) ?? createLocalBreaker(clock);
      breakers.set(target, breaker);
      // Already open: a call that was in flight when it opened adds no evidence.
      if (breaker.waitMs() > 0) return false;
      const opened = breaker.trip((openings) => jittered(rule.openMs(openings)));
      log.warn('breaker_opened', { target, ...opened });
      return report(target);
    },
  };
};
