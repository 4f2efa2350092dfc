/**
 * Every cell of test/faults/dependencies.test.ts, of which `npm test` runs a sample: run it with
 * `npm run soak:dependencies`. TEST_SEED repeats the order of a failure.
 */
import { startVitest } from 'vitest/node';
import { chooseSeed } from '../support/seeds.ts';

process.env.DEPENDENCIES_CELLS = 'all';
process.stdout.write(`${chooseSeed()}\n`);

const vitest = await startVitest('test', ['test/faults/dependencies.test.ts'], {
  watch: false,
  reporters: ['verbose'],
});
await vitest.close();
