import * as z from 'zod/mini';
import { PARTITION_KEY } from '../../tables.ts';
import type { Project, ProjectStore } from '../project-store.ts';
import type { DynamoClient } from './dynamo-client.ts';
import { createTable, type Item } from './table.ts';

const StoredProject = z.object({
  [PARTITION_KEY]: z.string(),
  name: z.exactOptional(z.string()),
  createdAt: z.number(),
});

const readProject = (item: Item): Project => {
  const { [PARTITION_KEY]: id, ...project } = StoredProject.parse(item);
  return { id, ...project };
};

const CONDITION = 'attribute_not_exists(#createdAt)';
const CREATE = { update: 'SET #createdAt = :createdAt', condition: CONDITION };
const CREATE_NAMED = { update: `${CREATE.update}, #name = :name`, condition: CONDITION };

/** `ProjectStore` on the projects table: one item per project, by its id. */
export const createDynamoProjectStore = (deps: {
  client: DynamoClient;
  tableName: string;
}): ProjectStore => {
  const table = createTable(deps);
  return {
    findProject: async (id) => {
      const item = await table.read(id);
      return item && readProject(item);
    },
    createProject: async ({ id, name, createdAt }) => {
      const write = name === undefined ? CREATE : CREATE_NAMED;
      const { applied, mayBeDuplicated } = await table.apply(id, write, {
        names: { '#createdAt': 'createdAt', '#name': 'name' },
        values: { ':createdAt': createdAt, ':name': name },
      });
      if (applied || !mayBeDuplicated) return applied;
      // A repeat of a write whose response was lost finds its own project.
      return (await table.read(id))?.createdAt === createdAt;
    },
    listProjects: async () =>
      (await table.scan()).map(readProject).toSorted((a, b) => (a.id < b.id ? -1 : 1)),
  };
};
