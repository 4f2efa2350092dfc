import { setTimeout } from 'node:timers/promises';
import { fc, SEED } from '../support/seeds.ts';
import { MAX_STALL_MS, startStallMeter } from './stall-meter.ts';

const { FUZZ_MINUTES } = process.env;

/** All fuzzing of a soak together, in milliseconds; 0 in `npm test`. */
const TOTAL_MS = Number(FUZZ_MINUTES ?? 0) * 60_000;
/** All slices together before the time counts, so that `npm test` has the same inputs on every machine. */
const FIRST_SLICES = 8;

/** No slice is cut off, so a failure is shrunk to its end. */
const RUNS_PER_SLICE = 100;
const SHRINK_MS = 60_000;

export type Fuzzing<Input, Made, Got> = {
  /** Share of the slices and of a soak's time. */
  share: number;
  input: fc.Arbitrary<Input>;
  /** The first inputs of each slice: what no draw may leave out. */
  examples?: Input[];
  /** What is sent. */
  make(input: Input): Made;
  /** Sends it. No turn of the event loop may be long meanwhile. */
  act(made: Made): Promise<Got>;
  /** Throws when what came back is not as it should be. */
  check(got: Got, made: Made): void;
  /** What was sent, for the report of a failure. */
  show(made: Made): string;
  /** How many inputs one value holds; 1 unless given. */
  size?(made: Made): number;
  /** Looked at between slices: what is true of many inputs together. */
  between?(): Promise<void>;
  annotate(message: string): Promise<unknown>;
};

/** Longest that a test with this share takes, for its timeout. */
export const timeoutOf = (share: number): number => share * TOTAL_MS + 2 * SHRINK_MS;

/** Far above what any answer takes on a busy machine: what takes longer hangs. */
const HANG_MS = 25_000;

const unlessItHangs = async <T>(acted: Promise<T>): Promise<T> => {
  const backstop = new AbortController();
  const hanging = setTimeout(HANG_MS, undefined, backstop).then(() => {
    throw new Error(`no answer within ${HANG_MS} ms`);
  });
  try {
    return await Promise.race([acted, hanging]);
  } finally {
    backstop.abort();
    hanging.catch(() => undefined);
  }
};

const assertNoStall = (ms: number) => {
  if (ms > MAX_STALL_MS) throw new Error(`the event loop stood still for ${Math.round(ms)} ms`);
};

/**
 * Checks its share of the first slices of random inputs, and further ones until its share of the time
 * is over. A failure prints the seed of its slice: with it as TEST_SEED the same inputs come first.
 */
export const fuzz = async <Input, Made, Got>(fuzzing: Fuzzing<Input, Made, Got>): Promise<void> => {
  const { share, input, make, act, check, show, size = () => 1, between, annotate } = fuzzing;
  const examples = fuzzing.examples?.map((one): [Input] => [one]) ?? [];
  const meter = startStallMeter();
  const until = performance.now() + share * TOTAL_MS;
  let count = 0;
  let longest = 0;
  const property = fc.asyncProperty(input, async (value) => {
    const made = make(value);
    count += size(made);
    try {
      const { got, turnMs } = await meter.during(() => unlessItHangs(act(made)));
      longest = Math.max(longest, turnMs);
      assertNoStall(turnMs);
      check(got, made);
    } catch (error) {
      const text = error instanceof Error ? error.stack : String(error);
      throw new Error(`${text}\n\nIt was sent this:\n${show(made)}`);
    }
  });
  try {
    const slices = Math.max(1, Math.floor(share * FIRST_SLICES));
    for (let seed = SEED; seed < SEED + slices || performance.now() < until; seed += 1) {
      const plugins = [fc.interruptAfterTimeLimit(until - performance.now() + SHRINK_MS)];
      await fc.assert(property, { seed, numRuns: RUNS_PER_SLICE, plugins, examples });
      await between?.();
    }
  } finally {
    meter.stop();
    await annotate(
      `${count} inputs from seed ${SEED}; longest turn ${Math.round(longest)} ms of CPU`,
    );
  }
};
