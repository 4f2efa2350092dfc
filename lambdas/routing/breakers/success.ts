import type { Attempt, PermitParts } from './attempt.ts';
import { addRecent, withoutSilent } from './evidence.ts';
import { breakerNames, hasFailed, type LocalBreaker, type Opening } from './local-breakers.ts';
import { noteStart, startPacing } from './pace.ts';

const CLOSED: Opening = { openUntil: 0, openings: 0 };

/** What first contents and responses that end well close. */
export const createSuccess = ({ states, local, upstream, clock, log }: PermitParts) => {
  /** The breakers of the call's key and project. */
  const findOwn = ({ target, asker, health }: Attempt): LocalBreaker[] =>
    hasFailed(health, clock.now())
      ? [breakerNames.key(target, asker), breakerNames.project(target, asker)].flatMap(
          (name) => local.find(name) ?? [],
        )
      : [];

  /** Closes what other callers of this environment wait for, too; returns whether there was anything. */
  const closeCommon = ({ target, health }: Attempt): boolean => {
    if (!hasFailed(health, clock.now())) return false;
    const names = [
      breakerNames.connection(target),
      breakerNames.credential(target, upstream.credentialVersion(target)),
    ];
    const found = names.filter((name) => local.find(name));
    for (const name of found) local.remove(name);
    return found.length > 0;
  };

  /** The target has answered: closes every breaker that the call passed. Their `openings` remain until it ends. */
  const start = async (attempt: Attempt): Promise<void> => {
    const { name, health } = attempt;
    const now = clock.now();
    for (const breaker of findOwn(attempt)) {
      breaker.row = withoutSilent(breaker.row);
      breaker.openUntil = 0;
      noteStart(breaker.pace, now);
    }
    if (health.row.length > 0) health.row = withoutSilent(health.row);
    const state = states.known(name);
    const isOpen = state !== undefined && state.openUntil > 0;
    if (closeCommon(attempt) || isOpen) startPacing(health.pace, now);
    noteStart(health.pace, now);
    // Where responses break off, one that began before the opening shows nothing by its beginning.
    if (!isOpen || (health.isBroken && !attempt.isConstrained)) return;
    const next = { openUntil: 0, openings: state.openings };
    if (await states.transition(name, next, state.version)) {
      log.warn('breaker_closed', { target: name, ...next });
    }
  };

  const finish = async (attempt: Attempt): Promise<void> => {
    const { asker, name, health } = attempt;
    addRecent(health.recent, { at: clock.now(), by: asker.projectId, hasFailed: false });
    // Their pace remains: a provider with little capacity fails again soon.
    for (const breaker of findOwn(attempt)) Object.assign(breaker, CLOSED, { row: [] });
    if (health.row.length > 0) health.row = [];
    const state = states.known(name);
    if (state && state.openings > 0 && state.openUntil === 0) {
      await states.transition(name, CLOSED, state.version);
    }
  };

  return { start, finish };
};
