/**
 * The incidents of `npm test` in greater number and length: run it with `npm run soak:incidents`.
 * INCIDENTS (200) is their number, INCIDENT_SECONDS (600) their longest outage; TEST_SEED repeats a run.
 */
import { startVitest } from 'vitest/node';
import { chooseSeed } from '../support/seeds.ts';

process.env.INCIDENTS ??= '200';
process.env.INCIDENT_SECONDS ??= '600';
process.stdout.write(`${chooseSeed()}\n`);

const vitest = await startVitest('test', ['test/faults/incidents'], {
  watch: false,
  testTimeout: 300_000,
  reporters: ['verbose'],
});
await vitest.close();
