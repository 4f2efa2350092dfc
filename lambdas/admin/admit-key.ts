import type { KeyRecord } from '../stores/key-store.ts';
import type { PlanStore } from '../stores/plan-store.ts';
import type { AdmittedKey, Project } from '../stores/project-store.ts';
import { listOf } from '../support/async-lists.ts';
import { MINUTE_MS } from '../support/clock.ts';
import { invalidRequest } from '../support/errors.ts';
import type { AdminParts, Admission, AdmitKey } from './operation.ts';
import { conflict, projectNotFound } from './roles.ts';

/** Far above the second by which lists of keys are behind, and above the time that a creation takes. */
export const UNLISTED_MS = MINUTE_MS;

/** Attempts of one admission against concurrent ones of its project. */
const MAX_ATTEMPTS = 30;
/** Remembered of a project without a limit, which needs to know only that there was one. */
const MAX_ADMITTED = 50;

/** Keys that were admitted so lately that lists may not have them yet. */
export const recentlyAdmitted = ({ admitted = [] }: Project, now: number): AdmittedKey[] =>
  admitted.filter(({ admittedAt }) => admittedAt > now - UNLISTED_MS);

/** Neither revoked nor expired nor replaced: a replaced key shares the counters of its successor. */
const countsAsActive = ({ status, expiresAt, replacedBy }: KeyRecord, now: number): boolean =>
  status !== 'revoked' && replacedBy === undefined && (expiresAt ?? now + 1) > now;

/** @throws ApiError 400 */
export const requireAllowedPlan = ({ id, plans }: Project, planId: string): void => {
  if (plans === undefined || plans.includes(planId)) return;
  const reason = `plan: project '${id}' may use only ${plans.join(', ')}.`;
  throw invalidRequest(reason, { param: 'plan' });
};

/** Keeps a plan from its deletion for a minute. @throws ApiError 400 if it was deleted before */
export const requireAssigned = async (
  plans: Pick<PlanStore, 'assignPlan'>,
  planId: string,
  now: number,
): Promise<void> => {
  if (await plans.assignPlan(planId, now)) return;
  throw invalidRequest(`plan: unknown plan '${planId}'.`, { param: 'plan' });
};

/** @throws ApiError 409 */
export const requireNotDeleted = ({ id, deletedAt }: Project): void => {
  if (deletedAt !== undefined) throw conflict(`Project '${id}' was deleted.`);
};

/**
 * Lists of keys are up to a second behind, so a project counts those of the last minute itself: its limit of keys
 * holds exactly, and neither it nor a plan can be deleted while a key is created.
 */
export const createAdmitKey = ({ projects, plans, keys, clock }: AdminParts): AdmitKey => {
  /** @throws ApiError 409 */
  const requirePlace = async (project: Project, recent: AdmittedKey[]): Promise<void> => {
    if (project.maxKeys === undefined) return;
    const now = clock.now();
    const active = new Set(recent.map(({ keyId }) => keyId));
    for (const record of await listOf(keys.readKeys(project.id))) {
      if (countsAsActive(record, now)) active.add(record.keyId);
      else active.delete(record.keyId);
    }
    if (active.size < project.maxKeys) return;
    throw conflict(`Project '${project.id}' has ${active.size} active keys, its maximum.`);
  };

  const admit = async (stored: Project, admission: Admission): Promise<Project> => {
    const { planId, keyId, replaces } = admission;
    requireNotDeleted(stored);
    const now = clock.now();
    const recent = recentlyAdmitted(stored, now);
    if (recent.some((one) => [one.keyId, one.successorId].includes(keyId))) return stored;
    // A concurrent rotation took its place, which the key's record may not show yet.
    const isTaken = recent.some((one) => one.keyId === replaces && one.successorId !== undefined);
    const isFirst = replaces !== undefined && !isTaken;
    if (!isFirst) {
      requireAllowedPlan(stored, planId);
      await requirePlace(stored, recent);
    }
    const kept = stored.maxKeys === undefined ? recent.slice(-MAX_ADMITTED) : recent;
    const admitted = isFirst ? { keyId: replaces, successorId: keyId } : { keyId };
    return { ...stored, admitted: [...kept, { ...admitted, admittedAt: now }] };
  };

  return async (admission) => {
    const { projectId, planId } = admission;
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
      const change = (stored: Project) => admit(stored, admission);
      const { outcome } = await projects.changeProject(projectId, change);
      if (outcome === 'missing') throw projectNotFound(projectId);
      if (outcome === 'changed') return requireAssigned(plans, planId, clock.now());
    }
    throw conflict(`Project '${projectId}' was changed concurrently. Retry.`);
  };
};
