/**
 * What care for prompt caches costs: `npm run bench:caches`, or `-- "400 KB"` for the rows alone that the pattern names. The
 * same bodies without and with all of it: marks or a key, a session that chooses between two equal targets, and the hashes that
 * explain a lost hit. `-- bills` prints instead what sessions cost at a provider with a cache. bench/README.md says how to read
 * both tables.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Model } from '../lambdas/catalog/catalog.ts';
import { bundle } from '../lib/bundle/bundle.ts';
import { print, type Samples } from './gateway/by-turns.ts';
import { shapeOf, WITH, WITHOUT } from './gateway/cache-cases.ts';
import { start, stopAll } from './gateway/processes.ts';
import { environmentOn, modelOf, startStores, targetAt } from './gateway/setting.ts';

const MOST = 1.02;

const modelsAt = (url: string): Model[] =>
  [WITHOUT, WITH].flatMap((side) =>
    (['', '/messages'] as const).map((to) => {
      const target = targetAt(url, shapeOf(side, to));
      const equal = ['bench', 'other'].map((upstream) => ({
        ...{ ...target, upstream, ...side.members },
      }));
      return modelOf(target.model, equal);
    }),
  );

const printCosts = async (rows: string): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), 'bench-'));
  try {
    const upstream = await start<{ url: string }>('upstream.ts');
    const { key, stores } = await startStores();
    const catalog = join(folder, 'models.json');
    writeFileSync(catalog, JSON.stringify(modelsAt(upstream.url)));
    const { file } = bundle({ entry: 'lambdas/router.ts', outdir: folder, catalog });
    Object.assign(process.env, environmentOn(stores['instant store']));
    const { samples } = await start<{ samples: Samples }>('cache-runner.ts', key, file, rows);
    print(samples, ['without', 'with'], MOST);
  } finally {
    stopAll();
    rmSync(folder, { recursive: true });
  }
};

const [, , rows = ''] = process.argv;
// Loaded where it is wanted: what a server's responses are written with is another in each of the two.
await (rows === 'bills' ? import('./gateway/cache-bills.ts') : printCosts(rows));
