/**
 * Agents of four processes of the router on one budget, against the provider's own bill, on a random seed; `npm test` has 40 agents
 * on a tenth of the prompts. Arguments are rows `agents,keys,dollars,lost caches,responses for each kill -9,failing calls`, e.g.
 * `npm run soak:budget -- 200,1,25,0.1,0,0`. TEST_SEED replays a run.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { chooseSeed } from '../support/seeds.ts';

const VITEST = fileURLToPath(new URL('vitest.mjs', import.meta.resolve('vitest/package.json')));
const ROWS = [
  ...['200,1,25,0,0,0', '200,1,25,0.1,0,0', '1000,1,25,0,0,0', '1000,1,25,0.1,0,0'],
  ...['200,1,250,0,0,0', '200,1,250,0.1,0,0', '1000,1,250,0,0,0', '1000,1,250,0.1,0,0'],
  ...['200,8,25,0.1,0,0', '200,8,25,0.1,40,0.03'],
];

const rowOf = (text: string) => {
  const [agents, keys, maxUsd, lost, killEvery, troubles] = text.split(',').map(Number);
  return { agents, keys, maxUsd, lost, killEvery, troubles };
};

const given = process.argv.slice(2);
process.stdout.write(`${chooseSeed()}\n`);
const { status } = spawnSync(
  process.execPath,
  [VITEST, 'run', 'test/budgets/crowd.test.ts', '--reporter=verbose'],
  {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    env: {
      ...process.env,
      BUDGET_ROWS: JSON.stringify((given.length > 0 ? given : ROWS).map(rowOf)),
    },
    stdio: 'inherit',
  },
);
process.exit(status ?? 1);
