import type { Target } from '../catalog/catalog.ts';
import type { Clock } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import { createLruCache } from '../support/lru-cache.ts';
import { oncePer } from '../support/once-per.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import { createLocalBreaker, type LocalBreaker } from './local-breaker.ts';
import type { LocalPermit } from './permits.ts';
import type { SharedStates } from './shared-states.ts';
import { createTargetHealth, type TargetHealth } from './target-health.ts';
import { provesTargetAlive, type TripRule, tripRuleFor } from './trip-policy.ts';

/** What the breakers of this environment share: `jittered` spreads the ends of their openings. */
type Parts = { clock: Clock; log: Log; jittered: (ms: number) => number };

/** The same text for each call of a target: a lookup hashes every other one. */
export const nameOf = oncePer(
  new WeakMap<Target, string>(),
  ({ upstream, model }) => `${upstream}/${model}`,
);

/** Of a call of which no breaker needs to know. */
const UNCONCERNED: LocalPermit = {
  onStart: () => {},
  onSuccess: () => {},
  onFailure: () => {},
  onAbandon: () => {},
};

// --- of a credential ---

/**
 * Breakers of rejected credentials, of this environment alone: another may hold a newer version of the
 * secret. Each belongs to the version that was rejected, so that a new version closes it at once.
 */
export type CredentialBreakers = {
  waitMs(target: Target): number;
  enter(target: Target): LocalPermit;
  open(target: Target, version: string | undefined, rule: TripRule): void;
};

type OfVersion = { version: string | undefined; breaker: LocalBreaker };

export const createCredentialBreakers = (
  parts: Parts & { credentialVersion: Upstream['credentialVersion'] },
): CredentialBreakers => {
  const { credentialVersion, clock, log, jittered } = parts;
  // As many entries as the catalog has targets.
  const entries = new Map<string, OfVersion>();

  /** The breaker of the version that a call would use now. */
  const currentOf = (target: Target): LocalBreaker | undefined => {
    const name = nameOf(target);
    const entry = entries.get(name);
    if (!entry) return undefined;
    if (entry.version === credentialVersion(target)) return entry.breaker;
    entries.delete(name);
    log.warn('breaker_closed', { target: name, openUntil: 0, openings: 0 });
    return undefined;
  };

  const enter = (target: Target): LocalPermit => {
    const breaker = currentOf(target);
    if (!breaker?.enter()) return UNCONCERNED;
    /** A call that ran while the credential counted as rejected has shown that it is accepted. */
    const accept = () => {
      if (entries.get(nameOf(target))?.breaker === breaker) entries.delete(nameOf(target));
    };
    const { release } = breaker;
    return {
      onStart: accept,
      onSuccess: accept,
      onFailure: (failure) => (provesTargetAlive(failure) ? accept() : release()),
      onAbandon: release,
    };
  };

  return {
    waitMs: (target) => currentOf(target)?.waitMs() ?? 0,
    enter,
    open: (target, version, rule) => {
      const name = nameOf(target);
      const known = entries.get(name);
      const entry = known?.version === version ? known : undefined;
      if (entry && entry.breaker.waitMs() > 0) return;
      const breaker = entry?.breaker ?? createLocalBreaker(clock);
      entries.set(name, { version, breaker });
      const opened = breaker.trip((openings) => jittered(rule.openMs(openings)));
      log.warn('breaker_opened', { target: name, ...opened });
    },
  };
};

// --- of connections ---

/**
 * Breakers of targets that this environment cannot connect to. Its own network may be the cause, so that the
 * breaker of all environments opens only when two of them have reported the same target.
 */
export type ConnectionBreakers = {
  waitMs(target: string): number;
  enter(target: string): LocalPermit;
  /** Opens here, and reports the target; returns whether another environment has reported it too. */
  open(target: string, rule: TripRule): Promise<boolean>;
};

/** Longer than a breaker stays open at most, so that a report is still known when its probe fails. */
const REPORT_MS = 3 * 60_000;

/** A report is a shared state like that of a breaker; no target has such a name. */
const reportOf = (target: string): string => `unreachable ${target}`;

export const createConnectionBreakers = (
  parts: Parts & { states: SharedStates },
): ConnectionBreakers => {
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
      if (!breaker) return UNCONCERNED;
      const isProbe = breaker.enter();
      const connected = () => {
        if (breakers.get(target) === breaker) breakers.delete(target);
      };
      const release = () => {
        if (isProbe) breaker.release();
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

// --- of a project ---

/**
 * Breakers of one target and one project in this environment. They hold off a project whose requests fail
 * alone, without taking the target from others.
 */
export type ProjectBreakers = {
  waitMs(target: string, projectId: string): number;
  enter(target: string, projectId: string): LocalPermit;
  /** Opens after one failure: the project's request was the probe of a breaker that others wait for. */
  holdOff(target: string, projectId: string, rule: TripRule): void;
};

type OfProject = { breaker: LocalBreaker; health: TargetHealth };

/** Entries exist for projects with failures only; at about 5 KB each, 5 MB at most. */
const MAX_ENTRIES = 1_000;

export const createProjectBreakers = (parts: Parts): ProjectBreakers => {
  const { clock, log, jittered } = parts;
  const entries = createLruCache<OfProject>(MAX_ENTRIES);
  const keyOf = (target: string, projectId: string) => `${target} ${projectId}`;

  const entryOf = (key: string): OfProject => {
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

  const enter = (target: string, projectId: string): LocalPermit => {
    const key = keyOf(target, projectId);
    const found = entries.get(key);
    const isProbe = found?.breaker.enter() ?? false;
    return {
      onStart: () => {
        if (isProbe) found?.breaker.start();
      },
      onSuccess: () => {
        // Not `found`: a failure of a concurrent call may have created the entry, or others evicted it.
        const entry = entries.get(key);
        entry?.health.succeeded(projectId);
        if (entry?.breaker.waitMs() === 0) entry.breaker.close();
      },
      onFailure: (failure) => {
        if (isProbe) found?.breaker.release();
        const rule = tripRuleFor(failure);
        // What no request can cause opens the breaker of all projects.
        if (rule?.mayBeRequest) fail(target, projectId, rule);
        else if (isProbe && provesTargetAlive(failure)) found?.breaker.start();
      },
      onAbandon: () => {
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
