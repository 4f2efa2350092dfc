/**
 * Ten tenants on four processes of the router, one of whom floods, against a provider with a token bucket, on a random seed; `npm test`
 * has 12 s of a larger quota. Arguments are rows `tokens a minute,seconds,wait in ms,declared,kill -9 each so many ms`, e.g.
 * `npm run soak:shares -- 100000,600,10000,1,0`. TEST_SEED replays a run.
 */
import { chooseSeed } from '../support/seeds.ts';
import { rowsOf, runTests } from './run-tests.ts';

/** The last two: 70 percent asked, and clocks 5 s apart with a process killed each 20 s. */
const ROWS = [
  ...['100000,600,10000,0,0', '100000,600,10000,1,0', '1000000,300,10000,1,0'],
  ...['100000,600,10000,1,0,light', '1000000,300,10000,1,20000,skewed'],
];
const FLOOD = [150, 20, 20, 20, 5, 5, 5, 5, 5, 5];
const LIGHT = [25, 10, 10, 5, 5, 3, 3, 3, 3, 3];

const rowOf = (text: string) => {
  const [tpm, seconds, waitMs, declared, killEveryMs, ...words] = text.split(',');
  return {
    ...{ tpm: Number(tpm), seconds: Number(seconds), waitMs: Number(waitMs) },
    ...{ isDeclared: declared === '1', killEveryMs: Number(killEveryMs) },
    asks: words.includes('light') ? LIGHT : FLOOD,
    skews: words.includes('skewed') ? [0, 2_500, -2_500, 1_000] : [0, 0, 0, 0],
  };
};

process.stdout.write(`${chooseSeed()}\n`);
const hasPassed = runTests('test/shares/crowd.test.ts', { SHARE_ROWS: rowsOf(ROWS, rowOf) });
process.exit(hasPassed ? 0 : 1);
