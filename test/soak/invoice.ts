/**
 * The invoice of strict vendors against the statement: 10,000 requests (`INVOICE_REQUESTS`) on a random seed; `npm test` sends
 * 400 on a fixed one. TEST_SEED replays a run.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { chooseSeed } from '../support/seeds.ts';

const VITEST = fileURLToPath(new URL('vitest.mjs', import.meta.resolve('vitest/package.json')));

process.stdout.write(`${chooseSeed()}\n`);
const { status } = spawnSync(
  process.execPath,
  [VITEST, 'run', 'test/metering/invoice.test.ts', '--reporter=verbose'],
  {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    env: { INVOICE_REQUESTS: '10000', ...process.env },
    stdio: 'inherit',
  },
);
process.exit(status ?? 1);
