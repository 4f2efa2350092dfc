/**
 * Freezes a release for the tests that run it next to this one:
 *
 *   node test/releases/freeze.ts v0.2.0 0.2.0
 *
 * writes into test/fixtures/releases/0.2.0/: `stores.mjs`, what it does with its tables; `router.json.gz` and `admin.json.gz`, its
 * functions; `day.json`, every item that a day of it leaves, and what it reads of them; `resources.json`, the resources with data of
 * its prod stage. Of the stores of 0.2.0 tests run those of its lessons alone, which are in `lessons.mjs`. A release is frozen once, when
 * it is tagged, and never edited: what exists is not written again.
 */
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { environmentFor } from '../runtime/start-function.ts';
import { TABLE_NAMES } from '../support/dynamo.ts';
import { playDay } from './day.ts';
import { frozenAddress, readCode, readScripts, startFunctions, startServices } from './services.ts';

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
mkdirSync(folder, { recursive: true });

/** Writes a file of the fixture unless the release has been frozen with it. */
const freeze = async (name: string, content: () => Promise<string | Buffer> | string | Buffer) => {
  const file = join(folder, name);
  if (!existsSync(file)) writeFileSync(file, await content());
};

const runIn = (sources: string, script: string): string =>
  execFileSync(process.execPath, ['--input-type=module', '--eval', script], {
    ...{ cwd: sources, encoding: 'utf8' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });

const storesOf = async (sources: string): Promise<string> => {
  const exported = EXPORTED.filter((path) => existsSync(`${sources}/lambdas/${path}`));
  const { outputFiles } = await build({
    stdin: {
      contents: exported.map((path) => `export * from './lambdas/${path}';`).join('\n'),
      resolveDir: sources,
    },
    absWorkingDir: sources,
    write: false,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    banner: { js: `// Release ${version}, bundled by test/releases/freeze.ts. Not edited.` },
  });
  return outputFiles[0]?.text ?? '';
};

type Model = { targets: { protocol: string }[] };

/** The function as the release's own bundler ships it, around its catalog at frozen addresses. */
const functionOf = (sources: string, entry: string): Buffer => {
  const read = readFileSync(`${sources}/lambdas/catalog/models.json`, 'utf8');
  const models = (JSON.parse(read) as Model[]).map(({ targets, ...model }) => ({
    ...model,
    targets: targets.map((target) => ({ ...target, baseUrl: frozenAddress(target.protocol) })),
  }));
  const catalog = join(sources, 'frozen-models.json');
  writeFileSync(catalog, JSON.stringify(models));
  const outdir = join(sources, `out-${entry}`);
  const options = JSON.stringify({ entry: `lambdas/${entry}.ts`, outdir, catalog });
  runIn(sources, `import { bundle } from './lib/bundle/bundle.ts'; bundle(${options});`);
  return gzipSync(JSON.stringify(readScripts(outdir)), { level: 9 });
};

/** Logical ids and types of what a prod stage keeps when its template has it no more. */
const resourcesOf = (sources: string): string => {
  const kept = runIn(
    sources,
    `import { synthTemplate } from './test/lib/synth.ts';
    const { Resources } = synthTemplate({ stage: 'prod' }).toJSON();
    const kept = Object.entries(Resources).filter(([, { DeletionPolicy = 'Delete' }]) => DeletionPolicy !== 'Delete');
    console.log(JSON.stringify(Object.fromEntries(kept.map(([id, { Type }]) => [id, Type])), null, 2));`,
  );
  return kept;
};

/** Each element of a list on a line, so that a difference shows. */
const linesOf = (list: object[]): string => list.map((one) => JSON.stringify(one)).join(',\n');

/** The scripted day, played with the frozen functions. */
const dayOf = async (): Promise<string> => {
  const services = await startServices();
  const env = {
    ...environmentFor(services.endpoints),
    ...{ PROJECTS_TABLE: TABLE_NAMES.projects, ANSWERS_TABLE: TABLE_NAMES.answers },
    REPLAY_HOURS: '24',
  };
  const code = { router: readCode(folder, 'router'), admin: readCode(folder, 'admin') };
  const functions = startFunctions(services, code, { router: env, admin: env });
  try {
    const { keys, reads } = await playDay({ services, functions });
    const items = Object.entries(await services.readItems()).map(
      ([table, all]) => `"${table}": [\n${linesOf(all)}\n]`,
    );
    return `{\n"keys": ${JSON.stringify(keys)},\n"reads": [\n${linesOf(reads)}\n],\n"items": {\n${items.join(',\n')}\n}\n}\n`;
  } finally {
    await functions.stop();
    await services.close();
  }
};

const sources = mkdtempSync(join(tmpdir(), 'freeze-'));
try {
  const archive = execFileSync('git', ['archive', commit], { cwd: root, maxBuffer: 1 << 30 });
  execFileSync('tar', ['-x', '-C', sources], { input: archive });
  symlinkSync(join(root, 'node_modules'), join(sources, 'node_modules'));
  await freeze('stores.mjs', () => storesOf(sources));
  await freeze('resources.json', () => resourcesOf(sources));
  for (const entry of ['router', 'admin'])
    await freeze(`${entry}.json.gz`, () => functionOf(sources, entry));
  await freeze('day.json', dayOf);
} finally {
  rmSync(sources, { recursive: true });
}
