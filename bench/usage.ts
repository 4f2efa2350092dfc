/**
 * What usage costs to read, and its history to fold. `npm run bench:usage` seeds a local router with 10,000 records of
 * today, of 500 keys in 9 projects (`-- --records 1000000` for another number), and times six reads: by four consoles
 * while the new records are folded, then alone and four at once. `npm run bench:usage -- fold` folds a day of 1,000,000
 * records hour by hour, on the embedded history table; the records are made when they are read.
 */
import { parseArgs } from 'node:util';
import { foldOf } from './usage/fold.ts';
import { readsOf } from './usage/reads.ts';
import { seedRouter } from './usage/seed.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { records: { type: 'string' } },
});
if (positionals[0] === 'fold') await foldOf(Number(values.records ?? 1_000_000));
else {
  const records = Number(values.records ?? 10_000);
  const { router, key } = await seedRouter(records);
  await readsOf({ router, key, records });
  await router.close();
}
