import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { PARTITION_KEY } from '../../tables.ts';
import type { Plan, PlanStore } from '../plan-store.ts';
import { createTable, type Item } from './table.ts';

const StoredPlan = z.object({
  [PARTITION_KEY]: z.string(),
  rpm: z.number(),
  quota: z.number(),
  period: z.enum(['hour', 'day', 'month']),
  models: z.array(z.string()).exactOptional(),
});

const readPlan = (item: Item): Plan => {
  const { [PARTITION_KEY]: id, ...plan } = StoredPlan.parse(item);
  return { id, ...plan };
};

const PUT = { update: 'SET #rpm = :rpm, #quota = :quota, #period = :period' };
const WITH_MODELS = { update: `${PUT.update}, #models = :models` };
const WITHOUT_MODELS = { update: `${PUT.update} REMOVE #models` };

/** `PlanStore` on the plans table: one item per plan, by its id. */
export const createDynamoPlanStore = (deps: {
  client: DynamoDBDocumentClient;
  tableName: string;
}): PlanStore => {
  const table = createTable(deps);
  return {
    findPlan: async (id) => {
      const item = await table.read(id);
      return item && readPlan(item);
    },
    putPlan: async ({ id, rpm, quota, period, models }) => {
      await table.apply(id, models ? WITH_MODELS : WITHOUT_MODELS, {
        names: { '#rpm': 'rpm', '#quota': 'quota', '#period': 'period', '#models': 'models' },
        values: { ':rpm': rpm, ':quota': quota, ':period': period, ':models': models },
      });
    },
    listPlans: async () => (await table.scan()).map(readPlan),
  };
};
