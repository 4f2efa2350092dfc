/**
 * The byte-level comparison of test/answers for longer: run it with `npm run soak:answers`.
 * ANSWERS_MINUTES (10) is its length; ANSWERS_SEED repeats the conversation that a failure named.
 */
import { randomInt } from 'node:crypto';
import { startVitest } from 'vitest/node';

process.env.ANSWERS_MINUTES ??= '10';
process.env.ANSWERS_SEED ??= String(randomInt(2 ** 31));

const vitest = await startVitest('test', ['test/answers/answers.test.ts'], {
  watch: false,
  reporters: ['verbose'],
});
await vitest.close();
