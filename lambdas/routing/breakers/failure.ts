import type { UpstreamError } from '../../protocols/rejections/upstream-error.ts';
import type { BreakerState } from '../../stores/notes.ts';
import type { Attempt, PermitParts } from './attempt.ts';
import { addFailure, isFailing, isFailingForSeveral } from './evidence.ts';
import { addRecent, breakerNames, isShut, type LocalBreaker, takeTurn } from './states.ts';
import { createJitter, type TripRule } from './trip-rules.ts';

type OpenMs = TripRule['openMs'];

/** With a single target, longer openings protect the provider no better than one call a second. */
const lengthFor =
  ({ asker }: Attempt, openMs: OpenMs): OpenMs =>
  (openings) =>
    openMs(asker.targets.length > 1 ? openings : 0);

const createOpenings = ({ states, local, clock, log, randomBytes }: PermitParts) => {
  const jittered = createJitter(randomBytes);
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
  const trip = async (attempt: Attempt, rule: TripRule, from: BreakerState | undefined) => {
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

/** After an opening one failure is enough, until a response has ended well. */
const neededOf = (opening: { openings: number } | undefined, { after }: TripRule): number =>
  opening !== undefined && opening.openings > 0 ? 1 : after;

/** Longer than a breaker stays open at most, so that a report is still known when its probe fails. */
const REPORT_MS = 3 * 60_000;

/** A report is a shared state like that of a breaker; no target has such a name. */
const reportOf = (target: string): string => `unreachable ${target}`;

/**
 * Reports that this environment cannot connect to a target, and returns whether another one has reported it too. The
 * network of one environment may be the cause, so that it takes two to open the breaker of all.
 */
const createUnreachableReports = ({ states, clock }: PermitParts) => {
  /** Versions of this environment's own reports. As many entries as the catalog has targets. */
  const reported = new Map<string, number>();
  return async (target: string): Promise<boolean> => {
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
};

/** Counts a failure at each level, and opens what fails at it. */
export const createFailure = (parts: PermitParts, release: (attempt: Attempt) => Promise<void>) => {
  const { states, local, clock } = parts;
  const { shutKey, shutProject, shutCommon, trip } = createOpenings(parts);
  const isUnreachableForOthers = createUnreachableReports(parts);

  /** Counts for the call's key, and for its project if several of its keys fail. */
  const failOwn = (attempt: Attempt, rule: TripRule): void => {
    const { target, asker, hasStarted: hadContent } = attempt;
    const { category } = rule;
    const failure = { at: clock.now(), by: asker.keyId, category, hadContent };
    const ofKey = local.ensure(breakerNames.key(target, asker));
    addFailure(ofKey.row, failure);
    if (isFailing(ofKey.row, rule, neededOf(ofKey, rule))) shutKey(attempt, rule);
    const ofProject = local.ensure(breakerNames.project(target, asker));
    addFailure(ofProject.row, failure);
    if (isFailingForSeveral(ofProject.row, rule, neededOf(ofProject, rule))) {
      shutProject(attempt, rule, ofProject);
    }
  };

  const failCredential = (attempt: Attempt, rule: TripRule, version: string | undefined) => {
    if (isFailingForSeveral(attempt.health.row, rule, rule.after)) {
      const breaker = local.ensure(breakerNames.credential(attempt.target, version));
      shutCommon(attempt, rule, breaker, rule.openMs);
    }
    return release(attempt);
  };

  /** The state from which a failure may open the target's breaker; undefined where it is open. */
  const readFrom = async ({ name }: Attempt) => {
    const state = await states.read(name);
    const now = clock.now();
    if (state && state.openUntil > now) return undefined;
    const isRemembered = state === undefined || state.openUntil === 0 || isShut(state, now);
    return { state: isRemembered ? state : { ...state, openings: 0 } };
  };

  const failTarget = async (attempt: Attempt, rule: TripRule): Promise<void> => {
    const from = await readFrom(attempt);
    if (!from) return;
    const { state } = from;
    if (isFailingForSeveral(attempt.health.row, rule, neededOf(state, rule))) {
      return trip(attempt, rule, state);
    }
    // The request may be the cause: the probe of another key is sent next.
    if (attempt.isProbe) shutKey(attempt, rule);
    return release(attempt);
  };

  const failToConnect = async (attempt: Attempt, rule: TripRule): Promise<void> => {
    const { target, name, asker } = attempt;
    const breaker = local.ensure(breakerNames.connection(target));
    const { category } = rule;
    addFailure(breaker.row, { at: clock.now(), by: asker.projectId, category, hadContent: false });
    const isOpening =
      isFailing(breaker.row, rule, neededOf(breaker, rule)) &&
      shutCommon(attempt, rule, breaker, lengthFor(attempt, rule.openMs));
    if (!isOpening || !(await isUnreachableForOthers(name))) return release(attempt);
    const from = await readFrom(attempt);
    return from && trip(attempt, rule, from.state);
  };

  return (attempt: Attempt, rule: TripRule, error: UpstreamError): Promise<void> => {
    const { asker, health, hasStarted: hadContent } = attempt;
    const at = clock.now();
    const by = asker.projectId;
    const { category, opens } = rule;
    health.failedAt = at;
    addRecent(health.recent, { at, by, hasFailed: true });
    if (opens === 'connection') return failToConnect(attempt, rule);
    failOwn(attempt, rule);
    addFailure(health.row, { at, by, category, hadContent });
    return opens === 'target'
      ? failTarget(attempt, rule)
      : failCredential(attempt, rule, error.credentialVersion);
  };
};
