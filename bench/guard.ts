/**
 * Compares this checkout with an earlier commit: `npm run bench:guard -- HEAD~1`. Both bundles run in one
 * process and answer the same requests by turns, so that a busy machine slows both. A row is a stage of the
 * router or a whole request; a ratio above 1.05 in the first rows shows which stage grew. Run it before a
 * release; no test does, because a timed test fails by chance.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Model } from '../lambdas/catalog/catalog.ts';
import { bundle } from '../lib/bundle/bundle.ts';
import { bundlerOf } from './checkout.ts';
import { print, type Samples } from './gateway/by-turns.ts';
import { start, stopAll } from './gateway/processes.ts';
import { environmentOn, modelsAt, startStores } from './gateway/setting.ts';

const GROWN = 1.05;
const [, , revision] = process.argv;
if (revision === undefined) throw new Error('Missing argument: a commit, a branch or a tag.');

/** Models whose targets' protocols a commit has. */
const knownTo = async (sources: string, models: Model[]): Promise<Model[]> => {
  const { parseModels }: { parseModels(models: Model[]): unknown } = await import(
    pathToFileURL(join(sources, 'lambdas/catalog/parse-models.ts')).href
  );
  return models.filter((model) => {
    try {
      return parseModels([model]);
    } catch {
      return false;
    }
  });
};

const folder = mkdtempSync(join(tmpdir(), 'guard-'));
try {
  const upstream = await start<{ url: string }>('upstream.ts');
  const { key, stores } = await startStores();
  const sources = join(folder, 'sources');
  const other = await bundlerOf(revision, sources);
  const models = await knownTo(sources, modelsAt(upstream.url));
  const catalog = join(folder, 'models.json');
  writeFileSync(catalog, JSON.stringify(models));
  const entry = 'lambdas/router.ts';
  const files = [
    other.bundle({ entry, outdir: join(folder, 'other'), catalog }).file,
    bundle({ entry, outdir: join(folder, 'this'), catalog }).file,
  ];
  Object.assign(process.env, environmentOn(stores['instant store']));
  const { samples } = await start<{ samples: Samples }>('guard-runner.ts', key, catalog, ...files);
  print(samples, [revision.slice(0, 10), 'this'], GROWN);
} finally {
  stopAll();
  rmSync(folder, { recursive: true });
}
