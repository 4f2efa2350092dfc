import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const VERSION = '4.0.2';
/** Ignored by git and by the linter; installed once. */
const FOLDER = fileURLToPath(new URL('../../.tmp/ric', import.meta.url));
const PACKAGE = join(FOLDER, 'node_modules/aws-lambda-ric');
const INSTALL_LIMIT_MS = 120_000;

export type RuntimeClient = { entry: string } | { missing: string };

const isInstalled = (): boolean =>
  existsSync(join(PACKAGE, 'package.json')) &&
  JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8')).version === VERSION;

/**
 * AWS's own runtime client. No dependency of the project: its install script compiles a native addon for
 * a minute and wants cmake. Without the script it comes in seconds; native-client.cjs is the addon.
 */
export const installRuntimeClient = (): RuntimeClient => {
  if (!isInstalled()) {
    const flags = ['--ignore-scripts', '--no-save', '--no-audit', '--no-fund', '--prefix', FOLDER];
    const run = spawnSync('npm', ['install', ...flags, `aws-lambda-ric@${VERSION}`], {
      encoding: 'utf8',
      timeout: INSTALL_LIMIT_MS,
    });
    if (!isInstalled()) {
      const reason = run.stderr?.split('\n').find((line) => line.includes('npm error'));
      return { missing: reason ?? run.error?.message ?? 'npm gave no reason' };
    }
  }
  return { entry: join(PACKAGE, 'index.mjs') };
};
