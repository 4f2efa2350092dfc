import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { bundle } from '../lib/bundle/bundle.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

type BundleModule = { bundle: typeof bundle };

/**
 * Copies the sources of an earlier commit into `folder`, which uses this checkout's node_modules.
 * @throws Error if git does not know the revision
 */
export const copySources = (revision: string, folder: string): void => {
  const archive = execFileSync('git', ['archive', revision], { cwd: ROOT, maxBuffer: 2 ** 30 });
  mkdirSync(folder, { recursive: true });
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
};

/** An earlier commit's own bundler, of its sources in `folder`. */
export const bundlerOf = async (revision: string, folder: string): Promise<BundleModule> => {
  copySources(revision, folder);
  return import(pathToFileURL(join(folder, 'lib/bundle/bundle.ts')).href);
};
