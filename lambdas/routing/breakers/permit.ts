import {
  createFailure,
  isOfAccount,
  noteStart,
  provesTargetAlive,
  startPacing,
  tripRuleFor,
} from '#late/failures';
import { accountOf } from '../../catalog/account.ts';
import { nameOf, type Target } from '../../catalog/catalog.ts';
import type { UpstreamError } from '../../protocols/rejections/upstream-error.ts';
import { atFirstCall } from '../../support/memo.ts';
import type { Attempt, PermitParts } from './attempt.ts';
import { withoutSilent } from './evidence.ts';
import {
  type Asker,
  addRecent,
  breakerNames,
  hasFailed,
  isPaced,
  type LocalBreaker,
  type Opening,
} from './states.ts';
import type { TripRule } from './trip-rules.ts';

const CLOSED: Opening = { openUntil: 0, openings: 0 };

/** What first contents and responses that end well close. */
const createSuccess = ({ states, local, upstream, clock, log }: PermitParts) => {
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

  const closeOwn = (attempt: Attempt, now: number): void => {
    for (const breaker of findOwn(attempt)) {
      breaker.row = withoutSilent(breaker.row);
      breaker.openUntil = 0;
      noteStart(breaker.pace, now);
    }
  };

  /** The target has answered: closes every breaker that the call passed. Their `openings` remain until it ends. */
  const start = async (attempt: Attempt): Promise<void> => {
    const { name, health } = attempt;
    const now = clock.now();
    closeOwn(attempt, now);
    if (health.row.length > 0) health.row = withoutSilent(health.row);
    const state = states.known(name);
    const isOpen = state !== undefined && state.openUntil > 0;
    if (closeCommon(attempt) || isOpen) startPacing(health.pace, now);
    if (isPaced(health.pace, now)) noteStart(health.pace, now);
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

/** How a permitted call went: `started` at its first content, then exactly one of the others. */
export type Outcome =
  | { kind: 'started' | 'finished' }
  /** The client disconnected, which is not evidence about the target. */
  | { kind: 'abandoned' }
  | { kind: 'failed'; error: UpstreamError };

/**
 * Takes the outcome of one permitted call. Resolves when the transition is written and must be awaited: Lambda freezes
 * pending writes after the response.
 */
export type Permit = (outcome: Outcome) => Promise<void>;

/** Returns the permit of a call, through which its outcome reaches the breakers that it concerns. */
export const createPermits = (parts: PermitParts) => {
  const { start, finish } = createSuccess(parts);
  /** Writes the state of a probe without evidence again, which removes `probeUntil`: another probe may be sent. */
  const release = async ({ name, isProbe }: Attempt): Promise<void> => {
    const state = isProbe ? parts.states.known(name) : undefined;
    if (!state || state.openUntil === 0) return;
    const { openUntil, openings, version } = state;
    await parts.states.transition(name, { openUntil, openings }, version);
  };

  const fail = atFirstCall(() => createFailure(parts, release));

  /** The other targets of the request that fail with this one: money is the account's, limits are those of a model. */
  const sharing = ({ target, asker }: Attempt, error: UpstreamError): Target[] =>
    isOfAccount(error)
      ? asker.targets.filter(
          (other) =>
            nameOf(other) !== nameOf(target) &&
            accountOf(other) === accountOf(target) &&
            (error.kind === 'no-quota' || other.model === target.model),
        )
      : [];

  const attemptOn = (target: Target, asker: Asker): Attempt => ({
    ...{ target, name: nameOf(target), asker, health: parts.local.healthOf(target) },
    ...{ hasStarted: false, isProbe: false, isConstrained: false },
  });

  const failAll = async (attempt: Attempt, rule: TripRule, error: UpstreamError): Promise<void> => {
    const others = sharing(attempt, error).map((target) => attemptOn(target, attempt.asker));
    await Promise.all([attempt, ...others].map((each) => fail(each, rule, error)));
  };

  const end = (attempt: Attempt, error: UpstreamError): Promise<void> => {
    if (error.kind !== 'connect') parts.local.remove(breakerNames.connection(attempt.target));
    const rule = tripRuleFor(error);
    if (rule) return failAll(attempt, rule, error);
    return attempt.isConstrained && provesTargetAlive(error) ? start(attempt) : release(attempt);
  };

  return (
    target: Target,
    asker: Asker,
    entered: Pick<Attempt, 'isProbe' | 'isConstrained'>,
  ): Permit => {
    const attempt = { ...attemptOn(target, asker), ...entered };
    return (outcome) => {
      switch (outcome.kind) {
        case 'started':
          attempt.hasStarted = true;
          return start(attempt);
        case 'finished':
          return finish(attempt);
        case 'abandoned':
          return release(attempt);
        case 'failed':
          return end(attempt, outcome.error);
      }
    };
  };
};
