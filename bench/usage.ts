/**
 * What usage costs to read, and its history to fold. `npm run bench:usage` seeds a local router with 10,000 records of
 * today, of 500 keys in 9 projects (`-- --records 1000000 --keys 10000 --data FOLDER` for other numbers, and a data folder),
 * and times six reads: by four consoles while the new records are folded, then alone and four at once.
 * `npm run bench:usage -- views` opens each view of the console in Chromium instead. `npm run bench:usage -- fold` folds a
 * day of 1,000,000 records hour by hour, on the embedded history table; the records are made when they are read.
 */
import { parseArgs } from 'node:util';
import { foldOf } from './usage/fold.ts';
import { readsOf } from './usage/reads.ts';
import { seedRouter } from './usage/seed.ts';
import { viewsOf } from './usage/views.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    records: { type: 'string' },
    keys: { type: 'string' },
    data: { type: 'string' },
    pictures: { type: 'string' },
  },
});
const [part] = positionals;
if (part === 'fold') await foldOf(Number(values.records ?? 1_000_000));
else {
  const records = Number(values.records ?? 10_000);
  const start = performance.now();
  const { router, key } = await seedRouter({
    records,
    keys: Number(values.keys ?? 500),
    folder: values.data,
  });
  console.log(`seeded after ${((performance.now() - start) / 1_000).toFixed(1)} s`);
  if (part === 'views') await viewsOf(router, records, values.pictures);
  else await readsOf({ router, key, records });
  await router.close();
}
