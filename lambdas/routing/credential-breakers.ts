import type { Target } from '../catalog/catalog.ts';
import type { Clock } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import { createLocalBreaker, type LocalBreaker } from './local-breaker.ts';
import type { Permit } from './permits.ts';
import { provesTargetAlive, type TripRule } from './trip-policy.ts';

/**
 * Breakers of refused credentials, of this environment alone: another may hold a newer version of the
 * secret. Each belongs to the version that was refused, so that a new version closes it at once.
 */
export type CredentialBreakers = {
  waitMs(target: Target): number;
  enter(target: Target): Permit;
  open(target: Target, version: string | undefined, rule: TripRule): void;
};

type Entry = { version: string | undefined; breaker: LocalBreaker };

export const nameOf = ({ upstream, model }: Target): string => `${upstream}/${model}`;

export const createCredentialBreakers = (parts: {
  credentialVersion: Upstream['credentialVersion'];
  clock: Clock;
  log: Log;
  jittered: (ms: number) => number;
}): CredentialBreakers => {
  const { credentialVersion, clock, log, jittered } = parts;
  // As many entries as the catalog has targets.
  const entries = new Map<string, Entry>();

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

  const enter = (target: Target): Permit => {
    const breaker = currentOf(target);
    const isProbe = breaker?.enter() ?? false;
    /** A call that ran while the credential counted as refused has shown that it is accepted. */
    const accept = async () => {
      if (isProbe && entries.get(nameOf(target))?.breaker === breaker)
        entries.delete(nameOf(target));
    };
    const release = async () => {
      if (isProbe) breaker?.release();
    };
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
