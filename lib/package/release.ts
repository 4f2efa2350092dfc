/**
 * Makes a release: `npm run release -- 0.3.0`. Moves what is unreleased in the changelog under the version, sets it, commits,
 * tags, and writes the package, the bills of materials of the package and of the functions, and their checksums to release/.
 * `npm run release -- artifacts` writes those files alone, of a commit that is tagged. Nothing is pushed or published.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundle, WEB_BUNDLE } from '../bundle/bundle.ts';
import { ConfigurationError } from '../configuration-error.ts';
import { billOfMaterials, partsOf } from './bill-of-materials.ts';
import { nextVersion, releasedChangelog } from './changelog.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const outdir = join(root, 'release');

const run = (command: string, ...args: string[]): string =>
  execFileSync(command, args, {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });

const rewrite = (file: string, change: (text: string) => string): void => {
  const path = join(root, file);
  writeFileSync(path, change(readFileSync(path, 'utf8')));
};

const FUNCTIONS = {
  router: { entry: 'lambdas/router.ts' },
  admin: { entry: 'lambdas/admin.ts' },
  web: WEB_BUNDLE,
} as const;

const writeArtifacts = (): void => {
  rmSync(outdir, { recursive: true, force: true });
  mkdirSync(outdir);
  run('npm', 'pack', '--pack-destination', outdir);
  copyFileSync(join(root, 'dist', 'sbom.cdx.json'), join(outdir, 'model-router.cdx.json'));
  for (const [name, options] of Object.entries(FUNCTIONS)) {
    const { sources } = bundle({ ...options, outdir: join('dist', 'functions', name) });
    const bill = billOfMaterials(partsOf(Object.keys(sources)));
    writeFileSync(join(outdir, `function-${name}.cdx.json`), `${JSON.stringify(bill, null, 2)}\n`);
  }
  const sums = readdirSync(outdir).map((name) => {
    const hash = createHash('sha256')
      .update(readFileSync(join(outdir, name)))
      .digest('hex');
    return `${hash}  ${name}\n`;
  });
  writeFileSync(join(outdir, 'SHA256SUMS'), sums.join(''));
};

/** Tags the version. @throws ConfigurationError */
const tag = (given: string | undefined): void => {
  if (run('git', 'status', '--porcelain') !== '') {
    throw new ConfigurationError('Commit or remove what is changed first.');
  }
  const { version: current } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    version: string;
  };
  const version = nextVersion(given, current);
  const day = new Date().toISOString().slice(0, 10);
  rewrite('CHANGELOG.md', (text) => releasedChangelog(text, version, day));
  run('npm', 'version', '--no-git-tag-version', version);
  // The document of the API has the version.
  run('npm', 'run', '--silent', 'openapi');
  run('git', 'commit', '--quiet', '-am', `chore: release ${version}`);
  run('git', 'tag', `v${version}`);
};

try {
  const [, , given] = process.argv;
  if (given !== 'artifacts') tag(given);
  writeArtifacts();
  process.stdout.write('release/ has what to publish.\n');
} catch (error) {
  if (!(error instanceof ConfigurationError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
