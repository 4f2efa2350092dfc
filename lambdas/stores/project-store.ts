/** A key that was created, or given its first successor, a short while ago. */
export type AdmittedKey = { keyId: string; admittedAt: number; successorId?: string };

/** The owner of a set of keys: a team, a service or a customer. */
export type Project = {
  /** Chosen by the operator; stored with each key and logged. */
  id: string;
  name?: string;
  /** Milliseconds since the epoch, as all instants here. */
  createdAt: number;
  /** Plans that its keys may have; all when absent. */
  plans?: string[];
  /** Keys that may be active at once; any number when absent. */
  maxKeys?: number;
  /** From then on no key can be created. The id is not used again: the history has it. */
  deletedAt?: number;
  /** What lists of keys may not show yet (keys/admit-key.ts). */
  admitted?: AdmittedKey[];
  /** Only in lists: a later version wrote it. */
  unreadable?: true;
};

export type ProjectChanged =
  | { outcome: 'changed'; before: Project; after: Project }
  | { outcome: 'missing' }
  /** Another write came between; nothing was written. */
  | { outcome: 'conflict' };

/**
 * For operators only: no caller's request reads a project.
 * Implemented by `createDynamoProjectStore` (stores/dynamo/project-store.ts). @throws StoreUnavailable
 */
export type ProjectStore = {
  /** @throws UnreadableItem */
  findProject(id: string): Promise<Project | undefined>;
  /** False if the id already exists. */
  createProject(project: Project): Promise<boolean>;
  /** Writes what `change` returns for the stored project, unless another write comes between. @throws UnreadableItem */
  changeProject(
    id: string,
    change: (stored: Project) => Project | Promise<Project>,
  ): Promise<ProjectChanged>;
  /** Every project, deleted ones included, sorted by id, by a table scan. */
  listProjects(): Promise<Project[]>;
};
