import type { Project, ProjectStore } from '../stores/project-store.ts';
import type { Clock } from '../support/clock.ts';
import { invalidRequest } from '../support/errors.ts';
import { formatInstant } from '../support/rfc3339.ts';
import { NewProject, readInput } from './input.ts';
import type { AdminOperation } from './operation.ts';

const publicProject = ({ id, name, createdAt }: Project) => ({
  id,
  ...(name !== undefined && { name }),
  created_at: formatInstant(createdAt),
});

type Parts = { projects: ProjectStore; clock: Clock };

export const createListProjects =
  ({ projects }: Pick<Parts, 'projects'>): AdminOperation =>
  async () => ({
    status: 200,
    body: { data: (await projects.listProjects()).map(publicProject) },
  });

export const createCreateProject =
  ({ projects, clock }: Parts): AdminOperation =>
  async ({ body }) => {
    const project = { ...readInput(NewProject, body), createdAt: clock.now() };
    if (await projects.createProject(project)) {
      return { status: 201, body: publicProject(project) };
    }
    throw invalidRequest(`The project '${project.id}' exists already.`, { status: 409 });
  };
