import type { KeyLifecycle } from '../keys/lifecycle.ts';
import type { KeyRecord } from '../stores/key-store.ts';
import type { PlanStore } from '../stores/plan-store.ts';
import type { ProjectStore } from '../stores/project-store.ts';
import type { Clock } from '../support/clock.ts';
import { type ApiError, invalidRequest, notFound } from '../support/errors.ts';
import { omitUndefined } from '../support/omit-undefined.ts';
import { formatInstant } from '../support/time.ts';
import { type NewKeyInput, OVERLAPS_MS, type Rotation } from './input.ts';
import type { AdminChange, AdminOperation } from './operation.ts';
import { requireProject } from './projects.ts';

const statusAt = ({ status, expiresAt }: KeyRecord, now: number): string =>
  status === 'active' && expiresAt !== undefined && expiresAt <= now ? 'expired' : status;

/** A key as the admin API returns it: its id and first characters, never the key or its hash. */
export const publicKey = (record: KeyRecord, now: number) => ({
  id: record.keyId,
  project: record.projectId,
  plan: record.planId,
  start: record.start,
  ...(record.name !== undefined && { name: record.name }),
  status: statusAt(record, now),
  created_at: formatInstant(record.createdAt),
  ...(record.expiresAt !== undefined && { expires_at: formatInstant(record.expiresAt) }),
  ...(record.replacedBy !== undefined && { replaced_by: record.replacedBy }),
});

/** A key in the audit, which holds no part of it. */
const auditedKey = (record: KeyRecord, now: number) => {
  const { start: _, ...fields } = publicKey(record, now);
  return fields;
};

/** @throws ApiError 400 */
const requireFuture = (expiresAt: number | undefined, now: number): void => {
  if (expiresAt === undefined || expiresAt > now) return;
  throw invalidRequest('expires_at: must be in the future.', { param: 'expires_at' });
};

const keyNotFound = (project: string, key: string): ApiError =>
  notFound(`Key '${key}' not found in project '${project}'. A new key is listed within a second.`);

export const keyHandlers = ({
  lifecycle,
  plans,
  projects,
  clock,
}: {
  lifecycle: KeyLifecycle;
  plans: Pick<PlanStore, 'findPlan'>;
  projects: Pick<ProjectStore, 'findProject'>;
  clock: Clock;
}) => {
  const list: AdminOperation = async ({ parameters: { project = '' } }) => {
    await requireProject(projects, project);
    const records = await lifecycle.list(project);
    return { status: 200, body: { data: records.map((record) => publicKey(record, clock.now())) } };
  };

  /** The response contains the key itself, this once. */
  const create: AdminChange<NewKeyInput> = async ({ parameters: { project = '' }, input }) => {
    const { plan, name, expires_at: expiresAt } = input;
    requireFuture(expiresAt, clock.now());
    await requireProject(projects, project);
    if (!(await plans.findPlan(plan))) {
      throw invalidRequest(`plan: unknown plan '${plan}'.`, { param: 'plan' });
    }
    const fields = { projectId: project, planId: plan, ...omitUndefined({ name, expiresAt }) };
    const { key, record } = await lifecycle.create(fields);
    const after = auditedKey(record, clock.now());
    return {
      status: 201,
      body: { key, ...publicKey(record, clock.now()) },
      changes: [{ action: 'keys.create', project, plan, key: record.keyId, after }],
    };
  };

  /** The response contains the successor itself, this once. It shares the old key's counters. */
  const rotate: AdminChange<Rotation> = async ({ parameters, input }) => {
    const { project = '', key: keyId = '' } = parameters;
    const { overlap, expires_at: expiresAt } = input;
    requireFuture(expiresAt, clock.now());
    const rotation = { overlapMs: OVERLAPS_MS[overlap], ...omitUndefined({ expiresAt }) };
    const rotated = await lifecycle.rotate({ projectId: project, keyId, ...rotation });
    if (!rotated) {
      const exists = (await lifecycle.list(project)).some((record) => record.keyId === keyId);
      if (!exists) throw keyNotFound(project, keyId);
      throw invalidRequest(`Key '${keyId}' is revoked or expired.`, { status: 409 });
    }
    const { key, old, record, isOldKeyEnded } = rotated;
    const replaced = { replaces: keyId, overlap, old_key_ended: isOldKeyEnded };
    const before = auditedKey(old, clock.now());
    const after = { ...auditedKey(record, clock.now()), ...replaced };
    return {
      status: 201,
      body: { key, ...publicKey(record, clock.now()), ...replaced },
      changes: [{ action: 'keys.rotate', project, plan: old.planId, key: keyId, before, after }],
    };
  };

  const revoke: AdminChange = async ({ parameters: { project = '', key: keyId = '' } }) => {
    const record = await lifecycle.revoke({ projectId: project, keyId });
    if (!record) throw keyNotFound(project, keyId);
    const { planId: plan } = record;
    const before = auditedKey(record, clock.now());
    const after = { ...before, status: 'revoked' };
    return {
      status: 200,
      body: { id: keyId, project, status: 'revoked' },
      changes: [{ action: 'keys.revoke', project, plan, key: keyId, before, after }],
    };
  };

  return { list, create, rotate, revoke };
};
