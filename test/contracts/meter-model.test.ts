import { type DynamoDBDocumentClient, GetCommand } from '@aws-sdk/lib-dynamodb';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createDynamoMeterStore } from '../../lambdas/stores/dynamo/meter-store.ts';
import { PARTITION_KEY } from '../../lambdas/tables.ts';
import { createMemoryClient, createMemoryTable } from '../simulation/memory-table.ts';
import { startDynamo, TABLE_NAMES } from '../support/dynamo.ts';
import { meterCommands, type Real } from './meter-model/commands.ts';
import { createFaultyClient } from './meter-model/faulty-client.ts';
import { createMeterModel } from './meter-model/model.ts';

/** Nine minutes before a year ends: sequences cross every kind of border. */
const START = Date.parse('2026-12-31T23:51:30Z');
const tableName = TABLE_NAMES.meters;

let meters = 0;
const createReal = (base: DynamoDBDocumentClient): Real => {
  meters += 1;
  const meterId = `mtr_model_${meters}`;
  const network = createFaultyClient(base);
  const newStore = () => createDynamoMeterStore({ client: network.client, tableName });
  const real: Real = {
    meterId,
    network,
    store: newStore(),
    restart: () => {
      real.store = newStore();
    },
    observer: createDynamoMeterStore({ client: base, tableName }),
    readCounters: async () => {
      const command = new GetCommand({
        TableName: tableName,
        Key: { [PARTITION_KEY]: meterId },
        ConsistentRead: true,
      });
      const { Item = {} } = await base.send(command);
      return Object.entries(Item)
        .filter(([name]) => name.startsWith('q') || name.startsWith('r'))
        .map(([, value]) => Number(value));
    },
  };
  return real;
};

const property = (newClient: () => DynamoDBDocumentClient) =>
  fc.asyncProperty(meterCommands, async (commands) => {
    const setUp = () => ({ model: createMeterModel(START), real: createReal(newClient()) });
    await fc.asyncModelRun(setUp, commands);
  });

const RUNS = Number(process.env.MODEL_RUNS ?? 4_000);

test.each(['always', 'never'] as const)(
  `after any of ${RUNS} histories the simulated table counts as the model does (item of a failed condition: %s)`,
  async (withItem) => {
    const newClient = () => createMemoryClient(createMemoryTable(), withItem);
    await fc.assert(property(newClient), { numRuns: RUNS });
  },
  600_000,
);

test('after any history DynamoDB counts as the model does', async () => {
  const dynamo = await startDynamo();
  try {
    await fc.assert(
      property(() => dynamo.client),
      { numRuns: 40 },
    );
    expect(meters).toBeGreaterThan(RUNS);
  } finally {
    await dynamo.close();
  }
});
