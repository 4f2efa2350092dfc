/** The owner of a set of keys: a team, a service or a customer. */
export type Project = {
  /** Chosen by the operator; stored with each key and logged. */
  id: string;
  name?: string;
  /** Milliseconds since the epoch. */
  createdAt: number;
};

/**
 * For operators only: no caller's request reads a project.
 * Implemented by `createDynamoProjectStore` (stores/dynamo/project-store.ts). @throws StoreUnavailable
 */
export type ProjectStore = {
  findProject(id: string): Promise<Project | undefined>;
  /** False if the id already exists. */
  createProject(project: Project): Promise<boolean>;
  /** Every project, sorted by id, by a table scan. */
  listProjects(): Promise<Project[]>;
};
