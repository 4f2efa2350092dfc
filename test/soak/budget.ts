/**
 * Agents of four processes of the router on one budget, against the provider's own bill, on a random seed; `npm test` has ten agents
 * on a tenth of the prompts. Arguments are rows `agents,keys,dollars,lost caches,responses for each kill -9,failing calls`, e.g.
 * `npm run soak:budget -- 200,1,25,0.1,0,0`; `200,1,0,0,0,0` is one request of each without a budget.
 * `npm run soak:budget -- crowd 200,8,25,0,40` simulates the writes of a crowd in seconds: the last number is the ms that a call of
 * the table takes. TEST_SEED replays a run.
 */
import { simulateCrowd } from '../simulation/budget-crowd.ts';
import { chooseSeed } from '../support/seeds.ts';
import { rowsOf, runTests } from './run-tests.ts';

const ROWS = [
  ...['200,1,25,0,0,0', '200,1,25,0.1,0,0', '1000,1,25,0,0,0', '1000,1,25,0.1,0,0'],
  ...['200,1,250,0,0,0', '200,1,250,0.1,0,0', '1000,1,250,0,0,0', '1000,1,250,0.1,0,0'],
  ...['200,8,25,0.1,0,0', '200,8,25,0.1,40,0.03'],
];
const SIMULATED = [
  '40,1,250,0,40',
  '200,1,250,0,40',
  '200,1,25,0,40',
  '200,8,25,0,40',
  '200,8,25,0,160',
];

const numbersOf = (text: string): number[] => text.split(',').map(Number);

const rowOf = (text: string) => {
  const [agents, keys, maxUsd, lost, killEvery, troubles] = numbersOf(text);
  return { agents, keys, maxUsd, lost, killEvery, troubles };
};

process.stdout.write(`${chooseSeed()}\n`);
const [first, ...given] = process.argv.slice(2);
if (first === 'crowd') {
  for (const text of given.length > 0 ? given : SIMULATED) {
    const [agents = 0, keys = 1, maxUsd = 0, lost = 0, callMs = 40] = numbersOf(text);
    const seed = Number(process.env.TEST_SEED);
    process.stdout.write(`${await simulateCrowd({ agents, keys, maxUsd, lost, callMs, seed })}\n`);
  }
} else {
  const hasPassed = runTests('test/budgets/crowd.test.ts', { BUDGET_ROWS: rowsOf(ROWS, rowOf) });
  process.exit(hasPassed ? 0 : 1);
}
