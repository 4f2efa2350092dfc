/** Whoever shares keys, a list and a bill: a team, a service, a customer. */
export type Project = {
  /** Chosen by the operator; keys carry it, logs show it. */
  id: string;
  name?: string;
  /** Milliseconds since the epoch. */
  createdAt: number;
};

/** For operators only; no request of a caller reads a project. Verbs throw `StoreUnavailable`, nothing else. */
export type ProjectStore = {
  findProject(id: string): Promise<Project | undefined>;
  /** False if the id is taken. */
  createProject(project: Project): Promise<boolean>;
  /** Every project, sorted by id; a scan. */
  listProjects(): Promise<Project[]>;
};
