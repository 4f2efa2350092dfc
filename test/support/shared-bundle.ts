import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Bundled, type BundleOptions, bundle } from '../../lib/bundle/bundle.ts';
import { sharedFolder } from '../house/leftovers.ts';

const SOURCES = ['lambdas', 'lib/bundle'].map((path) =>
  fileURLToPath(new URL(`../../${path}`, import.meta.url)),
);

/** When a source was last changed, for tests that run again while the sources are edited. */
const changedAt = (): number => {
  const times = SOURCES.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map(
      (name) => statSync(join(folder, name)).mtimeMs,
    ),
  );
  return times.reduce((one, other) => Math.max(one, other));
};

/**
 * A bundle that is built once for all files and workers of a run, and deleted after it: a build takes two seconds of CPU. No test
 * may change its folder. `catalog` is the text of one in place of the shipped one.
 */
export const sharedBundle = (
  options: Pick<BundleOptions, 'entry' | 'fileName' | 'credentials'>,
  catalog?: string,
): Bundled => {
  const name = JSON.stringify([options, catalog, changedAt()]);
  const folder = join(
    sharedFolder(),
    `bundle-${createHash('sha256').update(name).digest('hex').slice(0, 16)}`,
  );
  if (!existsSync(folder)) {
    mkdirSync(sharedFolder(), { recursive: true });
    const outdir = mkdtempSync(join(sharedFolder(), 'build-'));
    const file = join(outdir, 'models.json');
    if (catalog !== undefined) writeFileSync(file, catalog);
    const { sources } = bundle({
      ...options,
      outdir,
      ...(catalog !== undefined && { catalog: file }),
    });
    writeFileSync(join(outdir, 'sources.json'), JSON.stringify(sources));
    try {
      renameSync(outdir, folder);
    } catch (error) {
      // Another worker was faster.
      rmSync(outdir, { recursive: true });
      if (!existsSync(folder)) throw error;
    }
  }
  const sources: Bundled['sources'] = JSON.parse(
    readFileSync(join(folder, 'sources.json'), 'utf8'),
  );
  return { folder, file: join(folder, options.fileName ?? 'index.cjs'), sources };
};

const LOOPBACK = /http:\/\/127\.0\.0\.1:\d+/g;
const STANDS_FOR = /http:\/\/127\.0\.0\.1:600(\d\d)/g;

/** The scripts of a bundle around a catalog on loopback, by file name: of catalogs that differ in their ports one is built. */
export const scriptsAround = (
  models: object[],
  options: Pick<BundleOptions, 'entry' | 'fileName' | 'credentials'>,
): Record<string, string> => {
  const text = JSON.stringify(models);
  const addresses = [...new Set(text.match(LOOPBACK))];
  const standIn = (address: string) =>
    `http://127.0.0.1:600${String(addresses.indexOf(address)).padStart(2, '0')}`;
  const { folder } = sharedBundle(options, text.replaceAll(LOOPBACK, standIn));
  const names = readdirSync(folder).filter((name) => /\.c?js$/.test(name));
  const scriptOf = (name: string) =>
    readFileSync(join(folder, name), 'utf8').replaceAll(
      STANDS_FOR,
      (_, index) => addresses[Number(index)] ?? '',
    );
  return Object.fromEntries(names.map((name) => [name, scriptOf(name)]));
};
