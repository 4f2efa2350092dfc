import { defineConfig } from 'vitest/config';
import { closingLine } from './test/house/closing-line.ts';

const [major = 0] = process.versions.node.split('.').map(Number);
if (major < 24) {
  throw new Error(
    `The tests need Node 24 or newer and run on ${process.version}. ` +
      'npm ci brings it along, unless install scripts are off: run npm rebuild node.',
  );
}

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/support/fail-on-leaks.ts', 'test/support/fail-on-shapes.ts'],
    pool: 'threads',
    // Two cores; more workers only make the SDK and bundle tests starve each other.
    maxWorkers: 2,
    // A backstop for hangs, far above what any test takes on a busy machine.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    reporters: ['default', closingLine()],
  },
});
