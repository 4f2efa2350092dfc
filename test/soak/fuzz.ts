/**
 * The fuzzing of `npm test` for longer, one file after another: run it with `npm run soak:fuzz`.
 * FUZZ_MINUTES (10) is its length; TEST_SEED and FUZZ_FILE (requests, sockets, streams or upstreams) replay a failure.
 */
import { startVitest } from 'vitest/node';
import { chooseSeed } from '../support/seeds.ts';

process.env.FUZZ_MINUTES ??= '10';
process.stdout.write(`${chooseSeed()}\n`);

const { FUZZ_FILE = '' } = process.env;

const vitest = await startVitest('test', [`test/fuzz/${FUZZ_FILE}`], {
  watch: false,
  // Alone, so that the clock on the wall measures the router's turns and not a neighbour's.
  fileParallelism: false,
  reporters: ['verbose'],
});
await vitest.close();
