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
import { buildSync } from 'esbuild';
import { type Bundled, type BundleOptions, bundle } from '../../lib/bundle/bundle.ts';
import { sharedFolder } from '../house/leftovers.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SOURCES = ['cli', 'lambdas', 'lib/bundle', 'local', 'test/metering', 'test/support'];

/** When a source was last changed, for tests that run again while the sources are edited. */
const changedAt = (): number => {
  const times = SOURCES.map((path) => join(ROOT, path)).flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map(
      (name) => statSync(join(folder, name)).mtimeMs,
    ),
  );
  return times.reduce((one, other) => Math.max(one, other));
};

/** A folder that is filled once for all files and workers of a run that use it by the same name. */
const sharedOutput = (name: unknown, fill: (outdir: string) => void): string => {
  const hash = createHash('sha256').update(JSON.stringify([name, changedAt()]));
  const folder = join(sharedFolder(), `bundle-${hash.digest('hex').slice(0, 16)}`);
  if (existsSync(folder)) return folder;
  mkdirSync(sharedFolder(), { recursive: true });
  const outdir = mkdtempSync(join(sharedFolder(), 'build-'));
  fill(outdir);
  try {
    renameSync(outdir, folder);
  } catch (error) {
    // Another worker was faster.
    rmSync(outdir, { recursive: true });
    if (!existsSync(folder)) throw error;
  }
  return folder;
};

/**
 * A bundle that is built once for all files and workers of a run, and deleted after it: a build takes two seconds of CPU. No test
 * may change its folder. `catalog` is the text of one in place of the shipped one.
 */
export const sharedBundle = (
  options: Pick<BundleOptions, 'entry' | 'fileName' | 'credentials'>,
  catalog?: string,
): Bundled => {
  const folder = sharedOutput([options, catalog], (outdir) => {
    const file = join(outdir, 'models.json');
    if (catalog !== undefined) writeFileSync(file, catalog);
    const { sources } = bundle({
      ...options,
      outdir,
      ...(catalog !== undefined && { catalog: file }),
    });
    writeFileSync(join(outdir, 'sources.json'), JSON.stringify(sources));
  });
  const sources: Bundled['sources'] = JSON.parse(
    readFileSync(join(folder, 'sources.json'), 'utf8'),
  );
  return { folder, file: join(folder, options.fileName ?? 'index.cjs'), sources };
};

/**
 * One file with the script at `path` from the root and all that it imports, built once as a bundle is: a process of it starts with
 * a third of the CPU of one that loads the sources.
 */
export const sharedScript = (path: string): string => {
  const banner = `import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);`;
  const folder = sharedOutput(path, (outdir) => {
    buildSync({
      entryPoints: [join(ROOT, path)],
      outfile: join(outdir, 'script.mjs'),
      ...{ bundle: true, platform: 'node', format: 'esm', logLevel: 'error' },
      banner: { js: banner },
    });
  });
  return join(folder, 'script.mjs');
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
