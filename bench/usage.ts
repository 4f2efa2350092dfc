/**
 * What usage costs to read, and its history to fold. `npm run bench:usage` seeds a local router with 10,000 records of
 * today, of 500 keys in 9 projects, and times six reads, alone and four at once. `npm run bench:usage -- fold` folds a day
 * of 1,000,000 records hour by hour, on the embedded history table; the records are made when they are read.
 */
import { foldOf } from './usage/fold.ts';
import { readsOf } from './usage/reads.ts';
import { seedRouter } from './usage/seed.ts';

const [task = 'reads', count] = process.argv.slice(2);
if (task === 'fold') await foldOf(Number(count ?? 1_000_000));
else {
  const records = Number(count ?? 10_000);
  const { router, key } = await seedRouter(records);
  await readsOf({ router, key, records });
  await router.close();
}
