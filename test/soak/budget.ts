/**
 * Agents of four processes of the router on one budget, against the provider's own bill, on a random seed; `npm test` has 40 agents
 * on a tenth of the prompts. Arguments are rows `agents,keys,dollars,lost caches,responses for each kill -9,failing calls`, e.g.
 * `npm run soak:budget -- 200,1,25,0.1,0,0`. TEST_SEED replays a run.
 */
import { chooseSeed } from '../support/seeds.ts';
import { rowsOf, runTests } from './run-tests.ts';

const ROWS = [
  ...['200,1,25,0,0,0', '200,1,25,0.1,0,0', '1000,1,25,0,0,0', '1000,1,25,0.1,0,0'],
  ...['200,1,250,0,0,0', '200,1,250,0.1,0,0', '1000,1,250,0,0,0', '1000,1,250,0.1,0,0'],
  ...['200,8,25,0.1,0,0', '200,8,25,0.1,40,0.03'],
];

const rowOf = (text: string) => {
  const [agents, keys, maxUsd, lost, killEvery, troubles] = text.split(',').map(Number);
  return { agents, keys, maxUsd, lost, killEvery, troubles };
};

process.stdout.write(`${chooseSeed()}\n`);
const hasPassed = runTests('test/budgets/crowd.test.ts', { BUDGET_ROWS: rowsOf(ROWS, rowOf) });
process.exit(hasPassed ? 0 : 1);
