import type { PlanStore } from '../stores/plan-store.ts';
import type { Project, ProjectStore } from '../stores/project-store.ts';
import { formatInstant } from '../support/clock.ts';
import { invalidRequest } from '../support/errors.ts';
import { omitUndefined } from '../support/objects.ts';
import { changedBy } from './input.ts';
import type { Operation, OperationParts } from './operation.ts';
import { changedMeanwhile, conflict, type Identity, maySee, projectNotFound } from './roles.ts';

export const publicProject = ({ id, createdAt, deletedAt, maxKeys, ...project }: Project) => ({
  id,
  ...omitUndefined({
    name: project.name,
    plans: project.plans,
    max_keys: maxKeys,
    unreadable: project.unreadable,
  }),
  created_at: formatInstant(createdAt),
  ...(deletedAt !== undefined && { deleted_at: formatInstant(deletedAt) }),
});

/** A misspelt plan would otherwise be missing for the project, without an error. @throws ApiError 400 */
const requirePlans = async (plans: Pick<PlanStore, 'findPlan'>, ids: readonly string[] = []) => {
  const found = await Promise.all(ids.map((id) => plans.findPlan(id)));
  const unknown = ids.filter((_, index) => found[index] === undefined);
  if (unknown.length === 0) return;
  throw invalidRequest(`plans: unknown plan ${unknown.join(', ')}.`, { param: 'plans' });
};

/**
 * Without an identity the role was checked for the project of the path.
 * @throws ApiError 404 if it does not exist, or the identity may not see it
 */
export const requireProject = async (
  projects: Pick<ProjectStore, 'findProject'>,
  id: string,
  identity?: Identity,
): Promise<void> => {
  const isSeen = identity === undefined || maySee(identity, id);
  if (!isSeen || !(await projects.findProject(id))) throw projectNotFound(id);
};

/** Ids of all projects that the identity may see, or of the one that it asks for. @throws ApiError 404 */
export const projectsSeenBy = async (
  projects: Pick<ProjectStore, 'findProject' | 'listProjects'>,
  identity: Identity,
  project?: string,
): Promise<string[]> => {
  if (project === undefined) {
    return (await projects.listProjects()).map(({ id }) => id).filter((id) => maySee(identity, id));
  }
  await requireProject(projects, project, identity);
  return [project];
};

export const projectHandlers = ({ projects, plans, clock }: OperationParts) => {
  const list = (async ({ identity }) => {
    const all = await projects.listProjects();
    const data = all.filter(({ id, deletedAt }) => deletedAt === undefined && maySee(identity, id));
    return { status: 200, body: { data: data.map(publicProject) } };
  }) satisfies Operation<'projects.list'>;

  const create = (async ({ input: { max_keys: maxKeys, ...fields } }) => {
    await requirePlans(plans, fields.plans);
    const project = { ...fields, ...omitUndefined({ maxKeys }), createdAt: clock.now() };
    if (await projects.createProject(project)) {
      const after = publicProject(project);
      return { status: 201, body: after, changes: [{ project: project.id, after }] };
    }
    const isDeleted = (await projects.findProject(project.id))?.deletedAt !== undefined;
    const reason = isDeleted ? 'was deleted; its history keeps the id.' : 'already exists.';
    throw conflict(`Project '${project.id}' ${reason}`);
  }) satisfies Operation<'projects.create'>;

  /** Keys that exist keep working; plans and number of keys apply to new ones. */
  const set = (async ({ parameters: { project: id = '' }, input }) => {
    const { max_keys: maxKeys, ...fields } = input;
    await requirePlans(plans, input.plans ?? []);
    const changed = await projects.changeProject(id, (stored) =>
      changedBy({ ...fields, ...omitUndefined({ maxKeys }) }, stored),
    );
    if (changed.outcome === 'missing') throw projectNotFound(id);
    if (changed.outcome === 'conflict') throw changedMeanwhile(`Project '${id}'`);
    const [before, after] = [publicProject(changed.before), publicProject(changed.after)];
    return { status: 200, body: after, changes: [{ before, after }] };
  }) satisfies Operation<'projects.set'>;

  return { 'projects.list': list, 'projects.create': create, 'projects.set': set };
};
