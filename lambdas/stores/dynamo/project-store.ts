import * as z from 'zod/mini';
import { PARTITION_KEY } from '../../tables.ts';
import type { Project, ProjectStore } from '../project-store.ts';
import { UnreadableItem } from '../store-unavailable.ts';
import { asSeen, replacing } from './item-write.ts';
import { isUnderstood } from './needs.ts';
import { createTable, type Item, type TableOptions } from './table.ts';

const StoredProject = z.object({
  [PARTITION_KEY]: z.string(),
  name: z.exactOptional(z.string()),
  createdAt: z.number(),
  plans: z.exactOptional(z.array(z.string())),
  maxKeys: z.exactOptional(z.number()),
  deletedAt: z.exactOptional(z.number()),
  admitted: z.exactOptional(
    z.array(
      z.object({
        keyId: z.string(),
        admittedAt: z.number(),
        successorId: z.exactOptional(z.string()),
      }),
    ),
  ),
  /** Incremented by every change; absent before the first. */
  revision: z.exactOptional(z.number()),
});

const listed = (item: Item): Project => {
  const { success, data } = StoredProject.safeParse(item);
  if (success && isUnderstood(item)) {
    const { [PARTITION_KEY]: id, revision: _, ...project } = data;
    return { id, ...project };
  }
  const createdAt = Number(item.createdAt) || 0;
  return { id: String(item[PARTITION_KEY]), createdAt, unreadable: true };
};

/** @throws UnreadableItem */
const readProject = (item: Item): Project => {
  const project = listed(item);
  if (project.unreadable) throw new UnreadableItem('project');
  return project;
};

const FIELDS = ['createdAt', 'name', 'plans', 'maxKeys', 'deletedAt', 'admitted'] as const;
/** Sets the fields that a project has, and removes the others. */
const writeOf = (project: Project) =>
  replacing(Object.fromEntries(FIELDS.map((name) => [name, project[name]])));

/** `ProjectStore` on the projects table: one item per project, by its id. */
export const createDynamoProjectStore = (options: TableOptions): ProjectStore => {
  const table = createTable(options);

  /** Writes the project as the revision after `revision`, or as its first for undefined. */
  const replace = async (project: Project, revision: number | undefined): Promise<boolean> => {
    const next = (revision ?? 0) + 1;
    const { set, remove } = writeOf(project);
    const { applied, mayBeDuplicated } = await table.apply(project.id, {
      set: { ...set, revision: next },
      remove,
      conditions: [['createdAt', 'is present'], asSeen('revision', revision)],
    });
    if (applied || !mayBeDuplicated) return applied;
    // A repeat of a write whose response was lost finds its own revision.
    const item = await table.read(project.id);
    if (item?.revision !== next) return false;
    const intended = readProject({ ...project, [PARTITION_KEY]: project.id });
    return JSON.stringify(readProject(item)) === JSON.stringify(intended);
  };

  return {
    findProject: async (id) => {
      const item = await table.read(id);
      return item && readProject(item);
    },
    createProject: async (project) => {
      const { id, createdAt } = project;
      const { applied, mayBeDuplicated } = await table.apply(id, {
        ...writeOf(project),
        conditions: [['createdAt', 'is absent']],
      });
      if (applied || !mayBeDuplicated) return applied;
      // A repeat of a write whose response was lost finds its own project.
      return (await table.read(id))?.createdAt === createdAt;
    },
    changeProject: async (id, change) => {
      const item = await table.read(id);
      if (!item) return { outcome: 'missing' };
      const before = readProject(item);
      const after = await change(before);
      const isChanged = await replace(after, StoredProject.parse(item).revision);
      return isChanged ? { outcome: 'changed', before, after } : { outcome: 'conflict' };
    },
    listProjects: async () =>
      (await table.scan()).map(listed).toSorted((a, b) => (a.id < b.id ? -1 : 1)),
  };
};
