import { describe, expect, test } from 'vitest';
import type { DynamoClient } from '../../lambdas/stores/dynamo/dynamo-client.ts';
import { systemClock } from '../../lambdas/support/clock.ts';
import { createMemoryClient, createMemoryTable } from '../simulation/memory-table.ts';
import { startDynamo } from '../support/dynamo.ts';
import { startMemory } from '../support/memory-stores.ts';
import { createSdkClient } from '../support/sdk-client.ts';
import { fc, share } from '../support/seeds.ts';
import { openFolderKind } from './kinds.ts';
import {
  anyFault,
  changePlan,
  landLate,
  meterCommands,
  pass,
  reap,
  refund,
  reserve,
} from './meter-model/commands.ts';
import { faultyCommands } from './meter-model/faulty-commands.ts';
import { countMeters, setUpFaultyModel, setUpModel } from './meter-model/real.ts';

const property = (newClient: () => DynamoClient) =>
  fc.asyncProperty(meterCommands(anyFault), (commands) =>
    fc.asyncModelRun(setUpModel(newClient), commands),
  );

const RUNS = Number(process.env.MODEL_RUNS ?? share(4_000));

test.each(['always', 'never'] as const)(
  `the store on the simulated table counts as the model does after any of ${RUNS} histories (item of a failed condition: %s)`,
  async (withItem) => {
    const newClient = () =>
      createSdkClient(createMemoryClient(createMemoryTable(), withItem), systemClock);
    await fc.assert(property(newClient), { numRuns: RUNS });
  },
  600_000,
);

const SHARDED_RUNS = Math.ceil(RUNS / 8);
/** One request fills an item. */
const SHARDING = {
  marksPerItem: 1,
  minShards: 2,
  maxShards: 8,
  limitsHoldMs: 0,
  throttledToSpread: 3,
  writesInFlight: 2,
};

test.each(['always', 'never'] as const)(
  `a sharded meter counts as the model does after any of ${SHARDED_RUNS} histories without faults (item of a failed condition: %s)`,
  async (withItem) => {
    const newClient = () =>
      createSdkClient(createMemoryClient(createMemoryTable(), withItem), systemClock);
    const histories = fc.asyncProperty(meterCommands(fc.constant('none')), (commands) =>
      fc.asyncModelRun(setUpModel(newClient, SHARDING), commands),
    );
    await fc.assert(histories, { numRuns: SHARDED_RUNS });
  },
  600_000,
);

test(`a sharded meter counts what one of the possible outcomes of each unanswered write explains after any of ${SHARDED_RUNS} histories with faults`, async () => {
  const newClient = () =>
    createSdkClient(createMemoryClient(createMemoryTable(), 'always'), systemClock);
  const histories = fc.asyncProperty(faultyCommands, (commands) =>
    fc.asyncModelRun(setUpFaultyModel(newClient, SHARDING), commands),
  );
  await fc.assert(histories, { numRuns: SHARDED_RUNS });
}, 600_000);

test.each([
  ['on DynamoDB', startDynamo, share(100)],
  ['in memory', startMemory, share(400)],
  ['in a data folder', openFolderKind, share(400)],
] as const)(
  'the store %s counts as the model does after any of some histories',
  async (_, open, numRuns) => {
    const before = countMeters();
    const { client, close } = await open();
    try {
      await fc.assert(
        property(() => client),
        { numRuns },
      );
      expect(countMeters() - before).toBeGreaterThanOrEqual(numRuns);
    } finally {
      await close();
    }
  },
);

const TEN_MINUTES = pass(10 * 60_000);

/**
 * A reserve that is applied ten minutes after it was sent: its mark or its minute's counter may be removed by then,
 * and the floor denies it. Random seeds find these histories about once in 60,000.
 */
describe('a reserve that is applied ten minutes late', () => {
  test.each([
    [
      'counts no unit after its request was reaped',
      [
        TEN_MINUTES, // Into the next hour, so that the counter read at the end is the request's.
        reserve(1, 0, 'none'),
        TEN_MINUTES,
        reserve(1, 0, 'late'),
        TEN_MINUTES,
        reap,
        landLate,
      ],
    ],
    [
      'is denied if its minute was full when it was first denied',
      [
        reserve(1, 0, 'none'),
        changePlan(1, 4),
        reserve(0, 0, 'none'),
        TEN_MINUTES,
        reserve(4, 0, 'none'),
        refund(4, 'none'),
        reserve(0, 0, 'none'),
      ],
    ],
    [
      'counts no unit in a minute whose counter was removed',
      [
        TEN_MINUTES,
        reserve(1, 0, 'none'),
        changePlan(1, 4),
        reserve(0, 0, 'late'),
        TEN_MINUTES,
        reserve(2, 0, 'none'),
        refund(2, 'none'),
        landLate,
      ],
    ],
  ])('%s', async (_, history) => {
    const newClient = () =>
      createSdkClient(createMemoryClient(createMemoryTable(), 'always'), systemClock);
    await fc.asyncModelRun(setUpModel(newClient), history);
  });
});
