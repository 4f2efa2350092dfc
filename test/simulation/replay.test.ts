import { describe, expect, test } from 'vitest';
import { SEED, share } from '../support/seeds.ts';
import { type Faults, NO_FAULTS } from './faulty-network.ts';
import { simulateReplay } from './replay-world.ts';

const FAULT_SETS: Record<string, Faults> = {
  calm: NO_FAULTS,
  crashes: { ...NO_FAULTS, crash: 0.6 },
  'lost answers': { ...NO_FAULTS, drop: 0.1, loseReply: 0.15 },
  'late and doubled writes': { ...NO_FAULTS, late: 0.1, duplicate: 0.1 },
  throttling: { ...NO_FAULTS, throttle: 0.2 },
  'crashes and everything else': {
    ...{ drop: 0.05, loseReply: 0.08, late: 0.05, duplicate: 0.05, stray: 0, throttle: 0.05 },
    crash: 0.5,
  },
};
const SEEDS = Number(process.env.REPLAY_SEEDS ?? share(200));

/** Broken promises by seed, up to five seeds. */
const failures = async (faults: Faults) => {
  const failed: { seed: number; broken: string[] }[] = [];
  for (let seed = SEED; seed < SEED + SEEDS && failed.length < 5; seed += 1) {
    const broken = await simulateReplay(seed, faults);
    if (broken.length > 0) failed.push({ seed, broken });
  }
  return failed;
};

describe(`in ${SEEDS} schedules`, () => {
  test.each(Object.entries(FAULT_SETS))(
    'requests with one idempotency key under %s are one response and one unit, and no stored response is lost',
    async (_, faults) => {
      expect(await failures(faults)).toEqual([]);
    },
    3_600_000,
  );
});
