import { expect, test } from 'vitest';
import { checksAll, SEED } from '../support/seeds.ts';
import { simulateRevocation } from './region-keys.ts';
import { ESCROW, type RegionFaults, simulateRegions } from './region-world.ts';

// With fewer its own faults are not detected.
const DEFAULT = checksAll ? 5_000 : 1_000;
const SEEDS = Math.ceil(Number(process.env.SIMULATION_SEEDS ?? DEFAULT) / 50);
const TIMEOUT_MS = 3_600_000;
const NONE: RegionFaults = { loss: 0, duplicate: 0, partition: 0, kill: 0, skewMs: 0 };
const SETS: Record<string, RegionFaults> = {
  calm: NONE,
  partitions: { ...NONE, partition: 1 },
  'lost and repeated messages': { ...NONE, loss: 0.2, duplicate: 0.2 },
  kills: { ...NONE, kill: 0.02 },
  'everything at once': { loss: 0.3, duplicate: 0.3, partition: 0.7, kill: 0.02, skewMs: 2_500 },
};

type Judged = { broken: string[]; admittedInCut: number };

const run = async (simulate: (seed: number) => Judged | Promise<Judged>, seeds = SEEDS) => {
  const failed: { seed: number; broken: string[] }[] = [];
  let admittedInCut = 0;
  for (let seed = SEED; seed < SEED + seeds && failed.length < 3; seed += 1) {
    const one = await simulate(seed);
    admittedInCut += one.admittedInCut;
    if (one.broken.length > 0) failed.push({ seed, broken: one.broken });
  }
  return { failed, admittedInCut };
};

test.each(Object.entries(SETS))(
  'allotments in escrow under %s admit never one above the limit, deny none while something is held, and strand at most 5 percent while all regions live',
  async (_, faults) => {
    const { failed, admittedInCut } = await run((seed) => simulateRegions(seed, faults));
    expect(failed).toEqual([]);
    expect(admittedInCut > 0).toBe(faults.partition > 0);
  },
  TIMEOUT_MS,
);

test.each([
  [
    'add what a repeated message gives',
    { receive: (known: number, stated: number) => known + stated },
  ],
  ['lose what is given to them', { receive: () => 0 }],
  ['stop when they are cut off', { admits: (held: number, isCut: boolean) => held > 0 && !isCut }],
])('the simulation detects regions that %s', async (_, wrong) => {
  const faults = { ...NONE, duplicate: 0.5, partition: 1 };
  const simulate = (seed: number) => simulateRegions(seed, faults, { ...ESCROW, ...wrong });
  // One of them breaks a rule in every tenth schedule only.
  const { failed } = await run(simulate, 10 * SEEDS);
  expect(failed).toHaveLength(3);
});

test.each([false, true])(
  'a key cached for 1 s is revoked everywhere within 2 s, or of when a cut link is up again, cut: %s',
  async (hasCut) => {
    const { failed, admittedInCut } = await run((seed) =>
      simulateRevocation(seed, { freshMs: 1_000, hasCut }),
    );
    expect(failed).toEqual([]);
    // A region that is cut off cannot know.
    expect(admittedInCut > 0).toBe(hasCut);
  },
  TIMEOUT_MS,
);

test('the simulation detects keys that are cached for 10 s', async () => {
  const { failed } = await run((seed) =>
    simulateRevocation(seed, { freshMs: 10_000, hasCut: false }),
  );
  expect(failed).toHaveLength(3);
});
