/**
 * The invoice of strict vendors against the statement: 10,000 requests (`INVOICE_REQUESTS`) on a random seed; `npm test` sends
 * 400 on a fixed one. TEST_SEED replays a run.
 */
import { chooseSeed } from '../support/seeds.ts';
import { runTests } from './run-tests.ts';

process.stdout.write(`${chooseSeed()}\n`);
const hasPassed = runTests('test/metering/invoice.test.ts', { INVOICE_REQUESTS: '10000' });
process.exit(hasPassed ? 0 : 1);
