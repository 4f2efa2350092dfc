import type { Project, ProjectStore } from '../stores/project-store.ts';
import type { Clock } from '../support/clock.ts';
import { invalidRequest, notFound } from '../support/errors.ts';
import { formatInstant } from '../support/time.ts';
import { NewProject, readInput } from './input.ts';
import type { AdminOperation } from './operation.ts';

const publicProject = ({ id, name, createdAt }: Project) => ({
  id,
  ...(name !== undefined && { name }),
  created_at: formatInstant(createdAt),
});

/** @throws ApiError 404 */
export const requireProject = async (
  projects: Pick<ProjectStore, 'findProject'>,
  id: string,
): Promise<void> => {
  if (!(await projects.findProject(id))) throw notFound(`Project '${id}' not found.`);
};

export const projectHandlers = ({ projects, clock }: { projects: ProjectStore; clock: Clock }) => {
  const list: AdminOperation = async () => ({
    status: 200,
    body: { data: (await projects.listProjects()).map(publicProject) },
  });

  const create: AdminOperation = async ({ body }) => {
    const project = { ...readInput(NewProject, body), createdAt: clock.now() };
    if (await projects.createProject(project)) {
      return { status: 201, body: publicProject(project) };
    }
    throw invalidRequest(`Project '${project.id}' already exists.`, { status: 409 });
  };

  return { list, create };
};
