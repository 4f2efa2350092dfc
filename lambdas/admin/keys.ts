import type { KeyLifecycle } from '../keys/lifecycle.ts';
import type { PlanStore } from '../stores/plan-store.ts';
import type { ProjectStore } from '../stores/project-store.ts';
import type { Clock } from '../support/clock.ts';
import { invalidRequest, notFound } from '../support/errors.ts';
import { NewKeyInput, OVERLAPS_MS, Rotation, readInput } from './input.ts';
import type { AdminOperation } from './operation.ts';
import { publicKey } from './public-key.ts';

type Parts = {
  lifecycle: KeyLifecycle;
  plans: Pick<PlanStore, 'findPlan'>;
  projects: Pick<ProjectStore, 'findProject'>;
  clock: Clock;
};

/** @throws ApiError 404 */
export const requireProject = async (
  projects: Pick<ProjectStore, 'findProject'>,
  id: string,
): Promise<void> => {
  if (!(await projects.findProject(id))) throw notFound(`There is no project '${id}'.`);
};

const requireFuture = (expiresAt: number | undefined, now: number): void => {
  if (expiresAt === undefined || expiresAt > now) return;
  throw invalidRequest('expires_at: is in the past.', { param: 'expires_at' });
};

const noSuchKey = (project: string, key: string) =>
  notFound(`The project '${project}' has no key '${key}'. A new key is listed within a second.`);

export const createListKeys =
  ({ lifecycle, projects, clock }: Omit<Parts, 'plans'>): AdminOperation =>
  async ({ parameters: { project = '' } }) => {
    await requireProject(projects, project);
    const records = await lifecycle.list(project);
    return { status: 200, body: { data: records.map((record) => publicKey(record, clock.now())) } };
  };

/** The answer holds the key itself, this once. */
export const createCreateKey =
  ({ lifecycle, plans, projects, clock }: Parts): AdminOperation =>
  async ({ parameters: { project = '' }, body }) => {
    const { plan, name, expires_at: expiresAt } = readInput(NewKeyInput, body);
    requireFuture(expiresAt, clock.now());
    await requireProject(projects, project);
    if (!(await plans.findPlan(plan))) {
      throw invalidRequest(`plan: there is no plan '${plan}'.`, { param: 'plan' });
    }
    const { key, record } = await lifecycle.create({
      projectId: project,
      planId: plan,
      ...(name !== undefined && { name }),
      ...(expiresAt !== undefined && { expiresAt }),
    });
    return { status: 201, body: { key, ...publicKey(record, clock.now()) } };
  };

/** The answer holds the successor itself, this once. Its counters are the old key's. */
export const createRotateKey =
  ({ lifecycle, clock }: Pick<Parts, 'lifecycle' | 'clock'>): AdminOperation =>
  async ({ parameters: { project = '', key: keyId = '' }, body }) => {
    const { overlap, expires_at: expiresAt } = readInput(Rotation, body);
    requireFuture(expiresAt, clock.now());
    const rotated = await lifecycle.rotate({
      projectId: project,
      keyId,
      overlapMs: OVERLAPS_MS[overlap],
      ...(expiresAt !== undefined && { expiresAt }),
    });
    if (!rotated) {
      const known = (await lifecycle.list(project)).some((record) => record.keyId === keyId);
      if (!known) throw noSuchKey(project, keyId);
      throw invalidRequest(`The key '${keyId}' is revoked or expired.`, { status: 409 });
    }
    const { key, record, isOldKeyEnded } = rotated;
    return {
      status: 201,
      body: {
        key,
        ...publicKey(record, clock.now()),
        replaces: keyId,
        overlap,
        old_key_ended: isOldKeyEnded,
      },
    };
  };

export const createRevokeKey =
  ({ lifecycle }: Pick<Parts, 'lifecycle'>): AdminOperation =>
  async ({ parameters: { project = '', key: keyId = '' } }) => {
    if (!(await lifecycle.revoke({ projectId: project, keyId }))) throw noSuchKey(project, keyId);
    return { status: 200, body: { id: keyId, project, status: 'revoked' } };
  };
