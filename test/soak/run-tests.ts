import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const VITEST = fileURLToPath(new URL('vitest.mjs', import.meta.resolve('vitest/package.json')));

/** Runs a file of tests with variables, over which those of the environment take precedence; true if it passed. */
export const runTests = (file: string, variables: Record<string, string>): boolean => {
  // Only the verbose reporter prints the annotations of a passing test.
  const { status } = spawnSync(process.execPath, [VITEST, 'run', file, '--reporter=verbose'], {
    cwd: ROOT,
    env: { ...variables, ...process.env },
    stdio: 'inherit',
  });
  return status === 0;
};

/** The arguments of the command as the rows of a test, else the usual ones. */
export const rowsOf = (usual: string[], rowOf: (text: string) => object): string => {
  const given = process.argv.slice(2);
  return JSON.stringify((given.length > 0 ? given : usual).map(rowOf));
};
