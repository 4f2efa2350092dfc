import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import tsconfig from '../../tsconfig.json' with { type: 'json' };
import { checksAll } from '../support/seeds.ts';

/**
 * The changes of docs/how-to, applied to a copy of the tree below `.tmp`.
 * The pages are independent, so that all are compiled and run at once.
 */
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PAGES = join(ROOT, 'docs/how-to');
const NOT_COPIED = ['.git', '.tmp', 'node_modules', 'dist', 'cdk.out', 'coverage', 'release'];
/** Tests of the tree that hold for what a page adds. */
const GUARDS = ['test/house/protocol-rows.test.ts'];
/**
 * In `npm test` the product and the tests of the pages, the console's as one program with the rest. What CDK synthesizes
 * is left to its test: the types of CDK are four fifths of what the compiler would read.
 */
const CHANGED = '.tmp/changed.json';
const SYNTHESIZED = ['bin', 'lib', 'test/lib'];
/** By the file of what the compiler found the last time: only what changed since is checked anew. */
const PROJECTS = checksAll
  ? { 'all.tsbuildinfo': '.', 'console.tsbuildinfo': 'console' }
  : { 'changed.tsbuildinfo': CHANGED };
const keptPath = (file: string) => join(ROOT, '.tmp', `how-to-${file}`);
/** Each further worker would load the product anew, for a few seconds of tests. */
const ONE_WORKER = ['--reporter=dot', '--maxWorkers=1'];
const CHILD_MS = 600_000;

const run = promisify(execFile);
let copy = '';

/** What a tool printed in the copy; all of it if it failed. */
const tool = (name: string, ...args: string[]) =>
  run(process.execPath, [join(ROOT, 'node_modules', name), ...args], {
    ...{ cwd: copy, maxBuffer: 2 ** 26 },
    // What a tool leaves at its exit goes with the copy.
    env: { ...process.env, TMPDIR: join(copy, '.tmp') },
  }).then(
    ({ stdout }) => ({ isDone: true, text: stdout }),
    ({ stdout, stderr }) => ({ isDone: false, text: `${stdout}${stderr}` }),
  );

const patchOf = (page: string): string =>
  [...page.matchAll(/^```diff\n([\s\S]*?)^```$/gm)].map(([, diff]) => diff).join('');
const names = await readdir(PAGES);
const patches = await Promise.all(
  names.map(async (name) => {
    const patch = patchOf(await readFile(join(PAGES, name), 'utf8'));
    const files = [...patch.matchAll(/^\+\+\+ b\/(.+)$/gm)].map(([, file = '']) => file);
    const changed = files.filter((file) => /^test\/.*\.ts$/.test(file));
    return { name, patch, changed, tests: files.filter((file) => file.endsWith('.test.ts')) };
  }),
);

beforeAll(async () => {
  await mkdir(join(ROOT, '.tmp'), { recursive: true });
  copy = await mkdtemp(join(ROOT, '.tmp/how-to-'));
  await mkdir(join(copy, '.tmp'));
  const entries = (await readdir(ROOT)).filter((name) => !NOT_COPIED.includes(name));
  await Promise.all(
    entries.map((name) => cp(join(ROOT, name), join(copy, name), { recursive: true })),
  );
  for (const { name, patch } of patches) {
    const child = run('git', ['apply', '-C1', '--recount', '-'], {
      cwd: copy,
      env: { ...process.env, GIT_CEILING_DIRECTORIES: join(ROOT, '.tmp') },
    });
    child.child.stdin?.end(patch);
    await child.catch(({ stderr }) => {
      throw new Error(`docs/how-to/${name} does not apply:\n${stderr}`);
    });
  }
});
beforeAll(async () => {
  const paths = [
    ...tsconfig.include.filter((path) => !['test', 'bench'].includes(path)),
    ...['console', 'test/**/*.d.ts', ...GUARDS, ...patches.flatMap(({ changed }) => changed)],
  ].filter((path) => !SYNTHESIZED.some((folder) => `${path}/`.startsWith(`${folder}/`)));
  const project = {
    extends: '../console/tsconfig.json',
    compilerOptions: { tsBuildInfoFile: 'changed.tsbuildinfo' },
    include: paths.map((path) => `../${path}`),
  };
  await writeFile(join(copy, CHANGED), JSON.stringify(project));
});
afterAll(() => rm(copy, { recursive: true }));

test.each(patches)('docs/how-to/$name is a change with tests', ({ patch, tests }) => {
  expect(patch).toMatch(/^diff --git /);
  expect(tests).not.toEqual([]);
});

test.each(Object.entries(PROJECTS))(
  'the tree with the changes of all pages compiles (%s)',
  async (file, project) => {
    const found = join(copy, '.tmp', file);
    if (existsSync(keptPath(file))) await cp(keptPath(file), found);
    expect((await tool('typescript/bin/tsc', '-p', project)).text).toBe('');
    await cp(found, keptPath(file));
  },
  CHILD_MS,
);

test(
  'the tests that the pages add pass, and the guards of what they add to',
  async () => {
    // The browser's tests need Chromium.
    const files = [...GUARDS, ...patches.flatMap(({ tests }) => tests)].filter(
      (file) => !file.includes('browser/'),
    );
    const { isDone, text } = await tool('vitest/vitest.mjs', 'run', ...ONE_WORKER, ...files);
    expect(isDone, text).toBe(true);
    expect(text).toContain(`${files.length} passed`);
  },
  CHILD_MS,
);
