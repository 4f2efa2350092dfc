import { expect, test } from 'vitest';
import { read } from './pins.ts';

/** The end of Lambda's support for the runtime, as docs/deploy.md states it. */
const [, runtime, end = ''] =
  /\(`(nodejs\d+\.x)`\)\. AWS ends its support on (\d{4}-\d\d-\d\d)/.exec(read('docs/deploy.md')) ??
  [];
const HALF_A_YEAR_MS = 182 * 86_400_000;

test('the runtime of the functions that docs/deploy.md names is the one that is deployed', () => {
  for (const file of ['lib/function-parts.ts', 'lib/web-endpoint.ts']) {
    const [, major] = /NODEJS_(\d+)_X/.exec(read(file)) ?? [];
    expect(runtime).toBe(`nodejs${major}.x`);
  }
});

test('the runtime of the functions is supported for another half a year: move to the next Node before', () => {
  expect(Date.now()).toBeLessThan(Date.parse(end) - HALF_A_YEAR_MS);
});
