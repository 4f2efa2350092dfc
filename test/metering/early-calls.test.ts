import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRandom } from '../simulation/random.ts';
import { SEED, share } from '../support/seeds.ts';
import { type Burst, startBurstLab } from './burst-lab.ts';

const isFull = process.env.METERING_BURSTS === 'full';
/** Of one process: four of them make 16. */
const MOST_EXTRA_CALLS = 4;
const DELAYS_MS = [0, 5, 50];

let lab: Awaited<ReturnType<typeof startBurstLab>>;
beforeAll(async () => {
  lab = await startBurstLab();
});
afterAll(() => lab.close());

const total = (burst: Burst): number => burst.callers + (burst.warmUps ?? 1) * burst.processes;

/** What the law of docs/metering.md says about the provider's own counts. */
const expectLaw = async (burst: Burst) => {
  const { plan, processes, warmUps = 1 } = burst;
  const counted = await lab.run(burst);
  const extra = processes * MOST_EXTRA_CALLS;
  const { admitted, calls, mostOpen, statuses } = counted;
  expect(calls, JSON.stringify({ burst, counted })).toBeLessThanOrEqual(admitted + extra);
  expect(statuses[200]).toBe(admitted);
  const ofPlan = Math.min(plan.rpm ?? Infinity, plan.quota ?? Infinity);
  if (ofPlan < total(burst)) expect(admitted).toBe(ofPlan - warmUps * processes);
  if (plan.concurrency !== undefined) {
    expect(mostOpen).toBeLessThanOrEqual(plan.concurrency + extra);
  }
  return counted;
};

const limits = [
  { limit: 'rpm', plan: { rpm: 60 }, callers: isFull ? 1_500 : 150, answerMs: 20 },
  { limit: 'quota', plan: { quota: 100 }, callers: isFull ? 600 : 150, answerMs: 20 },
  { limit: 'concurrency', plan: { concurrency: 40 }, callers: isFull ? 400 : 150, answerMs: 300 },
  // Room for more than four early calls at the start, and none at the end.
  { limit: 'large rpm', plan: { rpm: 2_200 }, callers: 2_400, answerMs: 20, spreadMs: 5_000 },
];

const cells = limits
  .flatMap((row) => DELAYS_MS.map((delayMs) => ({ ...row, delayMs })))
  .flatMap((row) => [1, 2, 4].map((processes) => ({ ...row, processes })))
  .filter(
    ({ limit, delayMs, processes }) =>
      isFull || (limit !== 'large rpm' && delayMs === 5 && processes === 4),
  );

describe('a burst on a key that each process has served before', () => {
  test.each(cells)(
    'a burst over a $limit limit costs at most four more provider calls than admitted requests for each of $processes processes, with tables $delayMs ms away',
    async (cell) => {
      const { admitted, calls, mostOpen } = await expectLaw(cell);
      if (isFull)
        process.stdout.write(`${JSON.stringify({ ...cell, admitted, calls, mostOpen })}\n`);
    },
  );

  const drawn = (seed: number): Burst => {
    const random = createRandom(seed);
    const name = (['rpm', 'quota', 'concurrency'] as const)[random.between(0, 2)] ?? 'rpm';
    const limit = random.between(27, 200);
    return {
      plan: { [name]: limit },
      callers: random.between(1, 2 * limit),
      processes: random.between(1, 4),
      warmUps: random.between(0, 3),
      delayMs: random.between(0, 50),
      answerMs: random.between(0, 100),
      spreadMs: random.chance(0.5) ? random.between(1, 200) : 0,
    };
  };
  const draws = isFull ? 200 : share(30);

  test(`${draws} random bursts cost at most four more provider calls than admitted requests for each process`, async () => {
    for (let seed = SEED; seed < SEED + draws; seed += 1) await expectLaw(drawn(seed));
  }, 900_000);
});
