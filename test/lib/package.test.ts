import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { billOfMaterials, partsOf } from '../../lib/package/bill-of-materials.ts';
import { nextVersion, releasedChangelog } from '../../lib/package/changelog.ts';
import { sharedBundle } from '../support/shared-bundle.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = temporaryFolder('clones');

const read = (path: string) => JSON.parse(readFileSync(join(root, path), 'utf8'));

const Lock = z.object({
  packages: z.record(
    z.string(),
    z.object({
      version: z.string().optional(),
      license: z.string().optional(),
      hasInstallScript: z.boolean().optional(),
    }),
  ),
});
const { packages } = Lock.parse(read('package-lock.json'));

/** Licenses whose texts ask for no more than to be passed on. */
const PERMISSIVE = ['Apache-2.0', 'MIT', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD'];

const Bill = z.object({
  bomFormat: z.literal('CycloneDX'),
  components: z.array(
    z.object({
      name: z.string(),
      version: z.string(),
      purl: z.string(),
      licenses: z.tuple([z.object({ license: z.object({ id: z.enum(PERMISSIVE) }) })]),
    }),
  ),
});

/** A clone of the last commit with the packages of this one, and the build in it. */
const buildClone = (name: string): Record<string, string> => {
  const clone = join(folder, name);
  execFileSync('git', ['clone', '--quiet', '--local', root, clone]);
  symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'));
  execFileSync(process.execPath, [join(clone, 'lib/package/build.ts')], { cwd: clone });
  const dist = join(clone, 'dist');
  return Object.fromEntries(
    readdirSync(dist).map((file) => [
      file,
      createHash('sha256')
        .update(readFileSync(join(dist, file)))
        .digest('hex'),
    ]),
  );
};

describe('the package', () => {
  const build = { made: {} as Record<string, string> };

  test('two builds in two clones have the same bytes', () => {
    build.made = buildClone('one');
    expect(buildClone('another-name')).toEqual(build.made);
    expect(Object.keys(build.made)).toEqual(
      expect.arrayContaining(['model-router.mjs', 'sbom.cdx.json', 'LICENSES.txt', 'console.json']),
    );
  });

  test('its bill of materials has the parts of the bundle and of the console, in their locked versions', () => {
    const dist = join(folder, 'one', 'dist');
    const { components } = Bill.parse(
      JSON.parse(readFileSync(join(dist, 'sbom.cdx.json'), 'utf8')),
    );
    const names = components.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['zod', 'preact', '@middy/core']));
    for (const tool of ['vitest', 'esbuild', 'typescript', 'aws-cdk-lib', 'dynalite']) {
      expect(names).not.toContain(tool);
    }
    for (const { name, version } of components) {
      expect(`${name} ${packages[`node_modules/${name}`]?.version}`).toBe(`${name} ${version}`);
    }
    const licenses = readFileSync(join(dist, 'LICENSES.txt'), 'utf8');
    for (const { name, version } of components) expect(licenses).toContain(`${name} ${version} (`);
  });
});

test('the bill of a function names the packages in its bundle', () => {
  const { sources } = sharedBundle({ entry: 'lambdas/router.ts' });
  const { components } = Bill.parse(billOfMaterials(partsOf(Object.keys(sources))));
  const named = components.map(({ name }) => name);
  const folders = Object.keys(sources).filter((path) => path.includes('node_modules/'));
  expect(folders.length).toBeGreaterThan(0);
  for (const path of folders)
    expect(named.some((name) => path.includes(`node_modules/${name}/`))).toBe(true);
});

test('only the packages that package.json allows run a script when they are installed', () => {
  const { allowScripts } = z
    .object({ allowScripts: z.record(z.string(), z.boolean()) })
    .parse(read('package.json'));
  const scripted = Object.entries(packages)
    .filter(([path, { hasInstallScript }]) => hasInstallScript && existsSync(join(root, path)))
    .map(([path]) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length));
  expect(scripted.filter((name) => !allowScripts[name])).toEqual([]);
});

describe('a release', () => {
  const CHANGELOG =
    '# Changelog\n\n## [Unreleased]\n\n### Added\n\n- A thing.\n\n## [0.2.0] - 2026-11-24\n';

  test('its version comes after the current one', () => {
    expect(nextVersion('0.10.0', '0.9.3')).toBe('0.10.0');
    for (const given of [undefined, '', '0.9.3', '0.9.2', 'v1.0.0', '1.0']) {
      expect(() => nextVersion(given, '0.9.3')).toThrow('Name a version after 0.9.3');
    }
  });

  test('its changelog has the unreleased entries under the version, and none are left', () => {
    const text = releasedChangelog(CHANGELOG, '0.3.0', '2026-12-01');
    expect(text).toBe(
      CHANGELOG.replace('[Unreleased]\n', '[Unreleased]\n\n## [0.3.0] - 2026-12-01\n'),
    );
    expect(() => releasedChangelog(text, '0.4.0', '2026-12-02')).toThrow('no unreleased entry');
  });
});
