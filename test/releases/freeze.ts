/**
 * Bundles what a release does with its tables, for the tests that run it next to this one:
 *
 *   node test/releases/freeze.ts v0.2.0 0.2.0
 *
 * writes test/fixtures/releases/0.2.0/stores.mjs. A release is frozen once, when it is tagged, and never edited.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

/** Those that the release has. */
const EXPORTED = [
  'stores/dynamo/stores.ts',
  'stores/dynamo/project-store.ts',
  'keys/authenticate.ts',
  'keys/api-key.ts',
  'keys/lifecycle.ts',
  'admin/usage.ts',
  'admin/keys.ts',
];

const [, , commit, version] = process.argv;
if (commit === undefined || version === undefined) {
  throw new Error('Usage: node test/releases/freeze.ts COMMIT VERSION');
}

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = `${root}test/fixtures/releases/${version}`;

const sources = mkdtempSync(join(tmpdir(), 'freeze-'));
try {
  const archive = execFileSync('git', ['archive', commit, 'lambdas'], {
    cwd: root,
    maxBuffer: 1 << 30,
  });
  execFileSync('tar', ['-x', '-C', sources], { input: archive });
  const exported = EXPORTED.filter((path) => existsSync(`${sources}/lambdas/${path}`));
  mkdirSync(folder, { recursive: true });
  await build({
    stdin: {
      contents: exported.map((path) => `export * from './lambdas/${path}';`).join('\n'),
      resolveDir: sources,
    },
    absWorkingDir: sources,
    outfile: `${folder}/stores.mjs`,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    banner: { js: `// Release ${version}, bundled by test/releases/freeze.ts. Not edited.` },
  });
} finally {
  rmSync(sources, { recursive: true });
}
