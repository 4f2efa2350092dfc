/**
 * The seed of every property test, fuzz test and simulation: 1 in `npm test`, so that the same code always has
 * the same result. Soaks set TEST_SEED to a random number and print it; with that number a failure is replayed.
 * Tests import `fc` from here, because a property of plain fast-check draws a new seed in each run.
 */
import { randomInt } from 'node:crypto';
import fc from 'fast-check';

export const SEED = Number(process.env.TEST_SEED ?? 1);

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: SEED });

export { fc };

/** `npm run test:all`, which runs each night, checks every seed and every cell. */
export const checksAll = process.env.TEST_ALL === '1';

/** How many of `all` seeds are checked: in `npm test` the first tenth, or the first of so many parts. */
export const share = (all: number, parts = 10): number =>
  checksAll ? all : Math.ceil(all / parts);

/** The cells of a grid that are checked: in `npm test` each `step`th, from the one at `first`. */
export const sample = <T>(cells: readonly T[], step: number, first = 0): T[] =>
  cells.filter((_, index) => checksAll || index % step === first % step);

/** For soaks: sets TEST_SEED to a random number unless it is set, and returns the line to print. */
export const chooseSeed = (): string => {
  process.env.TEST_SEED ??= String(randomInt(2 ** 31));
  return `TEST_SEED=${process.env.TEST_SEED} repeats this run`;
};
