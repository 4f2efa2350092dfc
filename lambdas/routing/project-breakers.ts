import type { Clock } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import { createLruCache } from '../support/lru-cache.ts';
import { createLocalBreaker, type LocalBreaker } from './local-breaker.ts';
import type { Permit } from './permits.ts';
import { createTargetHealth, type TargetHealth } from './target-health.ts';
import { provesTargetAlive, type TripRule, tripRuleFor } from './trip-policy.ts';

/**
 * Breakers of one target and one project in this environment. They hold off a project whose requests fail
 * alone, without taking the target from others.
 */
export type ProjectBreakers = {
  waitMs(target: string, projectId: string): number;
  enter(target: string, projectId: string): Permit;
  /** Opens after one failure: the project's request was the probe of a breaker that others wait for. */
  holdOff(target: string, projectId: string, rule: TripRule): void;
};

type Entry = { breaker: LocalBreaker; health: TargetHealth };

/** Entries exist for projects with failures only; at about 5 KB each, 5 MB at most. */
const MAX_ENTRIES = 1_000;

export const createProjectBreakers = (parts: {
  clock: Clock;
  log: Log;
  jittered: (ms: number) => number;
}): ProjectBreakers => {
  const { clock, log, jittered } = parts;
  const entries = createLruCache<Entry>(MAX_ENTRIES);
  const keyOf = (target: string, projectId: string) => `${target} ${projectId}`;

  const entryOf = (key: string): Entry => {
    const entry = entries.get(key) ?? {
      breaker: createLocalBreaker(clock),
      health: createTargetHealth(clock),
    };
    entries.set(key, entry);
    return entry;
  };

  const holdOff = (target: string, projectId: string, rule: TripRule) => {
    const { breaker, health } = entryOf(keyOf(target, projectId));
    // Already open: a call that was in flight when it opened adds no evidence.
    if (breaker.waitMs() > 0) return;
    health.reset();
    const opened = breaker.trip((openings) => jittered(rule.projectMs(openings)));
    log.warn('project_held_off', { target, projectId, ...opened });
  };

  const fail = (target: string, projectId: string, rule: TripRule) => {
    const { breaker, health } = entryOf(keyOf(target, projectId));
    health.failed(projectId, rule);
    if (breaker.isOnProbation() || health.isFailing(rule.after)) holdOff(target, projectId, rule);
  };

  const enter = (target: string, projectId: string): Permit => {
    const found = entries.get(keyOf(target, projectId));
    const isProbe = found?.breaker.enter() ?? false;
    return {
      onStart: async () => {
        if (isProbe) found?.breaker.start();
      },
      onSuccess: async () => {
        // Not `found`: a failure of a concurrent call may have created the entry, or others evicted it.
        const entry = entries.get(keyOf(target, projectId));
        entry?.health.succeeded(projectId);
        if (entry?.breaker.waitMs() === 0) entry.breaker.close();
      },
      onFailure: async (failure) => {
        if (isProbe) found?.breaker.release();
        const rule = tripRuleFor(failure);
        // What no request can cause opens the breaker of all projects.
        if (rule?.mayBeRequest) fail(target, projectId, rule);
        else if (isProbe && provesTargetAlive(failure)) found?.breaker.start();
      },
      onAbandon: async () => {
        if (isProbe) found?.breaker.release();
      },
    };
  };

  return {
    waitMs: (target, projectId) => entries.get(keyOf(target, projectId))?.breaker.waitMs() ?? 0,
    enter,
    holdOff,
  };
};
