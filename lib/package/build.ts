/** Builds the command `model-router` into dist/, from where npm pack takes it: no file of it needs a package. */
import { chmodSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import { buildConsole, sourcesIn } from '#console';
import { billOfMaterials, licenseList, partsOf } from './bill-of-materials.ts';

const fromRoot = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

const outdir = fromRoot('dist');
rmSync(outdir, { recursive: true, force: true });
const { metafile } = buildSync({
  absWorkingDir: fromRoot('.'),
  entryPoints: { 'model-router': 'local/command.ts' },
  outdir,
  outExtension: { '.js': '.mjs' },
  bundle: true,
  // What a command does not use is not loaded.
  splitting: true,
  minify: true,
  keepNames: true,
  platform: 'node',
  target: 'node20',
  format: 'esm',
  mainFields: ['module', 'main'],
  // CommonJS packages call it.
  banner: {
    js: "import { createRequire } from 'node:module';const require = createRequire(import.meta.url);",
  },
  alias: {
    '#console': fromRoot('local/packed-console.ts'),
    '#program': fromRoot('cli/program-packed.ts'),
  },
  legalComments: 'none',
  logLevel: 'warning',
  metafile: true,
});
const consoleBuild = buildConsole();
// Next to the chunk that reads it.
writeFileSync(join(outdir, 'console.json'), JSON.stringify(consoleBuild.files));
const parts = partsOf([...sourcesIn(metafile), ...consoleBuild.sources]);
writeFileSync(
  join(outdir, 'sbom.cdx.json'),
  `${JSON.stringify(billOfMaterials(parts), null, 2)}\n`,
);
writeFileSync(join(outdir, 'LICENSES.txt'), licenseList(parts));
for (const name of readdirSync(outdir)) chmodSync(join(outdir, name), 0o755);
