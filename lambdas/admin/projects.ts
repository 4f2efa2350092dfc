import type { Change } from '../stores/audit-store.ts';
import type { Project, ProjectStore } from '../stores/project-store.ts';
import type { Clock } from '../support/clock.ts';
import { invalidRequest } from '../support/errors.ts';
import { formatInstant } from '../support/time.ts';
import type { NewProject } from './input.ts';
import type { AdminChange, AdminOperation } from './operation.ts';
import { type Identity, maySee, projectNotFound } from './roles.ts';

/** A project as the admin API returns it. */
export const publicProject = ({ id, name, createdAt }: Project) => ({
  id,
  ...(name !== undefined && { name }),
  created_at: formatInstant(createdAt),
});

/**
 * Without an identity the role was checked for the project of the path.
 * @throws ApiError 404 if it does not exist, or the identity may not see it
 */
export const requireProject = async (
  projects: Pick<ProjectStore, 'findProject'>,
  id: string,
  identity?: Identity,
): Promise<void> => {
  if (identity && !maySee(identity, id)) throw projectNotFound(id);
  if (!(await projects.findProject(id))) throw projectNotFound(id);
};

/** Ids of all projects that the identity may see. */
export const projectsSeenBy = async (
  projects: Pick<ProjectStore, 'listProjects'>,
  identity: Identity,
): Promise<string[]> =>
  (await projects.listProjects()).map(({ id }) => id).filter((id) => maySee(identity, id));

export const projectHandlers = ({ projects, clock }: { projects: ProjectStore; clock: Clock }) => {
  const list: AdminOperation = async ({ identity }) => {
    const all = await projects.listProjects();
    const data = all.filter(({ id }) => maySee(identity, id)).map(publicProject);
    return { status: 200, body: { data } };
  };

  const create: AdminChange<NewProject> = async ({ input }) => {
    const project = { ...input, createdAt: clock.now() };
    if (await projects.createProject(project)) {
      const after = publicProject(project);
      const changes: Change[] = [{ action: 'projects.create', project: project.id, after }];
      return { status: 201, body: after, changes };
    }
    throw invalidRequest(`Project '${project.id}' already exists.`, { status: 409 });
  };

  return { list, create };
};
