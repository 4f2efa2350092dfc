/**
 * The fuzzing of `npm test` for longer, one file after another: run it with `npm run soak:fuzz`.
 * FUZZ_MINUTES (10) is its length; FUZZ_SEED, FUZZ_FILE choose what a failure named.
 */
import { startVitest } from 'vitest/node';

process.env.FUZZ_MINUTES ??= '10';

const { FUZZ_FILE = 'test/fuzz' } = process.env;

const vitest = await startVitest('test', [FUZZ_FILE], {
  watch: false,
  // Alone, so that the clock on the wall measures the router's turns and not a neighbour's.
  fileParallelism: false,
  reporters: ['verbose'],
});
await vitest.close();
