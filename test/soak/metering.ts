/**
 * The metering suites at full length and on a random seed; `npm test` runs the same files in short on a fixed one.
 * `npm run soak:metering` takes about 45 minutes on two busy cores, `npm run soak:metering -- kills` runs one part.
 * Variables of the environment take precedence; TEST_SEED replays a run.
 */
import { chooseSeed } from '../support/seeds.ts';
import { runTests } from './run-tests.ts';

type Part = { file: string; variables: Record<string, string> };

const PARTS: Record<string, Part> = {
  /**
   * Six sets of faults, so 150,000 schedules of one item and 18,000 of several or with groups. A failing seed is printed
   * with what it broke.
   */
  simulation: {
    file: 'test/simulation/metering.test.ts',
    variables: { SIMULATION_SEEDS: '25000' },
  },
  /** Of budgets of dollars: 150,000 schedules, half of them of sharded meters. */
  budgets: {
    file: 'test/simulation/budgets.test.ts',
    variables: { SIMULATION_SEEDS: '250000' },
  },
  /** Of fair shares: 50,000 schedules. */
  shares: { file: 'test/simulation/shares.test.ts', variables: { SIMULATION_SEEDS: '100000' } },
  /** Of allotments of two and three regions: 100,000 schedules. */
  regions: {
    file: 'test/simulation/regions.test.ts',
    variables: { SIMULATION_SEEDS: '1000000' },
  },
  /**
   * Over HTTP: limits of 0 to 600 with up to 1,000 callers of four processes at once, and 72 cells of failures, whole and
   * streamed responses, one and four processes.
   */
  matrix: { file: 'test/metering/exactness.test.ts', variables: { METERING_MATRIX: 'full' } },
  /** Kills at random moments; the totals are printed next to the test. */
  kills: { file: 'test/metering/crashes.test.ts', variables: { METERING_KILLS: '50' } },
};

const print = (line: string) => process.stdout.write(`${line}\n`);

const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(PARTS);
const unknown = names.filter((name) => !PARTS[name]);
if (unknown.length > 0) {
  print(`Unknown part: ${unknown.join(', ')}. Parts: ${Object.keys(PARTS).join(', ')}.`);
  process.exit(2);
}

print(chooseSeed());
const results = names.map((name) => {
  const part = PARTS[name];
  return { name, hasPassed: part !== undefined && runTests(part.file, part.variables) };
});
for (const { name, hasPassed } of results) print(`${name}: ${hasPassed ? 'passed' : 'FAILED'}`);
process.exit(results.every(({ hasPassed }) => hasPassed) ? 0 : 1);
