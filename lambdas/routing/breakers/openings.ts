import type { BreakerState } from '../../stores/notes.ts';
import type { Attempt, PermitParts } from './attempt.ts';
import { breakerNames, isShut, type LocalBreaker } from './local-breakers.ts';
import { takeTurn } from './pace.ts';
import type { TripRule } from './trip-rules.ts';

type OpenMs = TripRule['openMs'];

/** With a single target, longer openings protect the provider no better than one call a second. */
export const lengthFor =
  ({ asker }: Attempt, openMs: OpenMs): OpenMs =>
  (openings) =>
    openMs(asker.targets.length > 1 ? openings : 0);

export const createOpenings = ({ states, local, clock, log, jittered }: PermitParts) => {
  /** Opens a breaker of this environment; one that is open does so no longer: the call began before that. */
  const shut = (
    breaker: LocalBreaker,
    by: string | undefined,
    { category }: TripRule,
    openMs: OpenMs,
  ) => {
    const now = clock.now();
    if (breaker.openUntil > now) return undefined;
    const openings = isShut(breaker, now) || breaker.openUntil === 0 ? breaker.openings : 0;
    const opened = { openUntil: now + jittered(openMs(openings)), openings: openings + 1 };
    Object.assign(breaker, opened, { category, row: [] });
    // The call that opens it was the last one: the next is sent a second later.
    takeTurn(breaker.pace.turns, by, now);
    return opened;
  };

  const shutKey = (attempt: Attempt, rule: TripRule): void => {
    const { target, name, asker } = attempt;
    const { projectId, keyId } = asker;
    const breaker = local.ensure(breakerNames.key(target, asker));
    const opened = shut(breaker, undefined, rule, lengthFor(attempt, rule.ownMs));
    if (opened) log.warn('key_held_off', { target: name, projectId, keyId, ...opened });
  };

  const shutProject = (attempt: Attempt, rule: TripRule, breaker: LocalBreaker): void => {
    const { projectId, keyId } = attempt.asker;
    const opened = shut(breaker, keyId, rule, lengthFor(attempt, rule.ownMs));
    if (opened) log.warn('project_held_off', { target: attempt.name, projectId, ...opened });
  };

  /** Opens what concerns every caller of this environment; returns whether it was not open. */
  const shutCommon = (
    { name, asker }: Attempt,
    rule: TripRule,
    breaker: LocalBreaker,
    openMs: OpenMs,
  ): boolean => {
    const opened = shut(breaker, asker.projectId, rule, openMs);
    if (opened) log.warn('breaker_opened', { target: name, fault: rule.category, ...opened });
    return opened !== undefined;
  };

  /** Opens the breaker of the target, for all environments. */
  const trip = async (
    attempt: Attempt,
    rule: TripRule,
    from: BreakerState | undefined,
  ): Promise<void> => {
    const { name, health } = attempt;
    Object.assign(health, { row: [], recent: [], isBroken: attempt.hasStarted });
    const openings = from?.openings ?? 0;
    const ms = jittered(lengthFor(attempt, rule.openMs)(openings));
    const next = { openUntil: clock.now() + ms, openings: openings + 1 };
    const opened = await states.transition(name, next, from?.version ?? 0);
    if (opened) log.warn('breaker_opened', { target: name, ...next });
  };

  return { shutKey, shutProject, shutCommon, trip };
};
