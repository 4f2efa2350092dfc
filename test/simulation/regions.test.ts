import { expect, test } from 'vitest';
import { SEED, share } from '../support/seeds.ts';
import { ESCROW, type RegionFaults, simulateRegions } from './region-world.ts';

const SEEDS = Math.ceil(Number(process.env.SIMULATION_SEEDS ?? share(5_000)) / 50);
const NONE: RegionFaults = { loss: 0, duplicate: 0, partition: 0, kill: 0, skewMs: 0 };
const SETS: Record<string, RegionFaults> = {
  calm: NONE,
  partitions: { ...NONE, partition: 1 },
  'lost and repeated messages': { ...NONE, loss: 0.2, duplicate: 0.2 },
  kills: { ...NONE, kill: 0.02 },
  'everything at once': { loss: 0.3, duplicate: 0.3, partition: 0.7, kill: 0.02, skewMs: 2_500 },
};

const failures = (faults: RegionFaults, rule = ESCROW) => {
  const failed: { seed: number; broken: string[] }[] = [];
  for (let seed = SEED; seed < SEED + SEEDS && failed.length < 3; seed += 1) {
    const broken = simulateRegions(seed, faults, rule);
    if (broken.length > 0) failed.push({ seed, broken });
  }
  return failed;
};

test.each(Object.entries(SETS))(
  'allotments in escrow under %s admit never one above the limit, and strand at most 5 percent of it while all regions live',
  (_, faults) => {
    expect(failures(faults)).toEqual([]);
  },
  3_600_000,
);

test('the simulation detects regions that add what a repeated message gives', () => {
  const adding = { receive: (known: number, stated: number) => known + stated };
  expect(failures({ ...NONE, duplicate: 0.5 }, adding)).toHaveLength(3);
});

test('the simulation detects regions whose leases do not arrive', () => {
  expect(failures(NONE, { receive: () => 0 })).toHaveLength(3);
});
