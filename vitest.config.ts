import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { closingLine } from './test/house/closing-line.ts';
import { SlowFirst } from './test/house/slow-first.ts';

const [major = 0] = process.versions.node.split('.').map(Number);
if (major < 24) {
  throw new Error(
    `The tests require Node 24 or newer; this is ${process.version}. ` +
      'npm ci installs Node 24. If install scripts are disabled, run npm rebuild node.',
  );
}

/** Folders of the newest SDKs, which `npm run scenes -- --latest` plays the tests with. */
const newest: Record<string, string> = JSON.parse(process.env.NEWEST_SDKS ?? '{}');

const inTests = (name: string): string =>
  fileURLToPath(new URL(`test/${name}.ts`, import.meta.url));

export default defineConfig({
  resolve: {
    alias: Object.entries(newest).map(([name, replacement]) => ({
      find: new RegExp(`^${name}$`),
      replacement,
    })),
  },
  test: {
    include: ['test/**/*.test.ts'],
    // npm run test:browser and npm run test:rehearsal
    exclude: ['test/browser/**', 'test/rehearsal/**'],
    globalSetup: inTests('house/leftovers'),
    setupFiles: ['compile-cache', 'plain-assertions', 'fail-on-leaks', 'fail-on-shapes'].map(
      (name) => inTests(`support/${name}`),
    ),
    pool: 'threads',
    // Files of one worker share its modules: loading them anew for each costs a second of CPU a file.
    isolate: false,
    // Node loads the sources as it does for users; Vite would rewrite each import to a getter, which costs a tenth of all CPU. No test
    // replaces a module. Only Vite has aliases.
    experimental: { viteModuleRunner: Object.keys(newest).length > 0, nodeLoader: false },
    // For two cores: files that wait for a process or a timer leave room for another.
    maxWorkers: 3,
    sequence: { sequencer: SlowFirst },
    // esbuild, which is a Go process, spends a quarter of its CPU on collecting garbage with Go's default of 100.
    env: { GOGC: '400' },
    // Ends hanging tests; far above the duration of any test on a busy machine: one of 14 s of CPU lasts 130 s where ten others compute.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    // A backstop too, and soon seen: most of what is awaited comes within milliseconds.
    expect: { poll: { timeout: 20_000, interval: 5 } },
    reporters: ['default', closingLine()],
  },
});
