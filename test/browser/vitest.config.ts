import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { findChromium } from './find-chromium.ts';

const chromium = findChromium();
if (chromium === undefined) {
  process.stderr.write(
    'test:browser is skipped: no Chromium on PATH. Install one, or set CHROMIUM to its path.\n',
  );
}

/** The tests of the console in a browser of this computer; without one there are none. */
export default defineConfig({
  test: {
    root: fileURLToPath(new URL('../..', import.meta.url)),
    include: chromium === undefined ? [] : ['test/browser/**/*.test.ts'],
    passWithNoTests: chromium === undefined,
    globalSetup: fileURLToPath(new URL('../house/leftovers.ts', import.meta.url)),
    env: { CHROMIUM: chromium ?? '' },
    pool: 'threads',
    isolate: false,
    maxWorkers: 2,
    // A browser that the machine stops for seconds: the second attempt is shown as such. Soaks pass --retry=0.
    retry: 1,
    // Far above what any state takes on a busy machine.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    expect: { poll: { timeout: 60_000 } },
  },
});
