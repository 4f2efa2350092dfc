/**
 * The metering suites at full length; `npm test` runs the same files in short. `npm run soak:metering` takes
 * some 20 minutes, `npm run soak:metering -- kills` runs one part. A variable that is set already wins.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const VITEST = fileURLToPath(new URL('vitest.mjs', import.meta.resolve('vitest/package.json')));

type Part = { file: string; variables: Record<string, string> };

const PARTS: Record<string, Part> = {
  /** Five sets of faults, so 125,000 schedules. A seed that fails is printed with what it broke. */
  simulation: {
    file: 'test/simulation/metering.test.ts',
    variables: { SIMULATION_SEEDS: '25000' },
  },
  /** Four processes over HTTP: limits of 0, 1, 2, 5, 60 and 600, up to 1,000 callers at once. */
  matrix: { file: 'test/metering/exactness.test.ts', variables: { METERING_MATRIX: 'full' } },
  /** `METERING_SEED` chooses other moments; the totals are printed beside the test. */
  kills: { file: 'test/metering/crashes.test.ts', variables: { METERING_KILLS: '50' } },
};

const print = (line: string) => process.stdout.write(`${line}\n`);

const run = ({ file, variables }: Part): boolean => {
  // The verbose reporter is the one that prints what a passing test has to say.
  const { status } = spawnSync(process.execPath, [VITEST, 'run', file, '--reporter=verbose'], {
    cwd: ROOT,
    env: { ...variables, ...process.env },
    stdio: 'inherit',
  });
  return status === 0;
};

const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(PARTS);
const unknown = names.filter((name) => !PARTS[name]);
if (unknown.length > 0) {
  print(`There is no ${unknown.join(', ')}. There are ${Object.keys(PARTS).join(', ')}.`);
  process.exit(2);
}

const results = names.map((name) => {
  const part = PARTS[name];
  return { name, hasPassed: part !== undefined && run(part) };
});
for (const { name, hasPassed } of results) print(`${name}: ${hasPassed ? 'passed' : 'FAILED'}`);
process.exit(results.every(({ hasPassed }) => hasPassed) ? 0 : 1);
