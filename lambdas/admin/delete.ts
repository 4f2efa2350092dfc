import type { KeyRecord } from '../stores/key-store.ts';
import { listOf } from '../support/async-lists.ts';
import { notFound } from '../support/errors.ts';
import { recentlyAdmitted, requireNotDeleted, UNLISTED_MS } from './admit-key.ts';
import type { Operation, OperationParts } from './operation.ts';
import { publicProject } from './projects.ts';
import { statusAt } from './public-key.ts';
import { conflict, projectNotFound } from './roles.ts';

const tooRecent = (subject: string) =>
  conflict(`${subject} got a key within the last minute. Repeat the deletion in a minute.`);

/** Deletes projects without usable keys, and plans that no usable key has. */
export const deleteHandlers = ({ projects, plans, keys, clock }: OperationParts) => {
  const usableKeys = async (projectId: string): Promise<KeyRecord[]> => {
    const now = clock.now();
    const all = await listOf(keys.readKeys(projectId));
    return all.filter((record) => !['revoked', 'expired'].includes(statusAt(record, now)));
  };

  /** Its history, requests and audit remain, and its id is not used again. */
  const deleteProject = (async ({ parameters: { project: id = '' } }) => {
    const changed = await projects.changeProject(id, async (stored) => {
      requireNotDeleted(stored);
      const now = clock.now();
      if (recentlyAdmitted(stored, now).length > 0) throw tooRecent(`Project '${id}'`);
      const usable = await usableKeys(id);
      if (usable.length === 0) return { ...stored, deletedAt: now };
      throw conflict(`Project '${id}' has ${usable.length} keys. Revoke them first.`);
    });
    if (changed.outcome === 'missing') throw projectNotFound(id);
    if (changed.outcome === 'conflict') throw conflict(`Project '${id}' was changed concurrently.`);
    const [before, after] = [publicProject(changed.before), publicProject(changed.after)];
    return { status: 200, body: after, changes: [{ before, after }] };
  }) satisfies Operation<'projects.delete'>;

  const deletePlan = (async ({ parameters: { plan: id = '' } }) => {
    const before = await plans.findPlan(id);
    if (!before) throw notFound(`Plan '${id}' not found.`);
    // Read before the keys: what is assigned from here on, the condition of the deletion sees.
    const unassignedSince = clock.now() - UNLISTED_MS;
    const all = await projects.listProjects();
    const usable = (await Promise.all(all.map((project) => usableKeys(project.id)))).flat();
    const using = usable.filter(({ planId }) => planId === id);
    if (using.length > 0) {
      throw conflict(`Plan '${id}' has ${using.length} keys, such as ${using[0]?.keyId}.`);
    }
    const outcome = await plans.deletePlan(id, unassignedSince);
    if (outcome === 'assigned') throw tooRecent(`Plan '${id}'`);
    if (outcome === 'missing') throw notFound(`Plan '${id}' not found.`);
    return { status: 200, body: { id, deleted: true }, changes: [{ before }] };
  }) satisfies Operation<'plans.delete'>;

  return { 'projects.delete': deleteProject, 'plans.delete': deletePlan };
};
