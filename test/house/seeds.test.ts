import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { fc, SEED } from '../support/seeds.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

test('properties without a seed run on the fixed one', () => {
  expect(fc.readConfigureGlobal().seed).toBe(SEED);
});

test('every test takes fast-check from test/support/seeds.ts', () => {
  const importers = globSync('test/**/*.ts', { cwd: root }).filter((path) =>
    /^import (?!type).*'fast-check'/m.test(readFileSync(`${root}/${path}`, 'utf8')),
  );
  expect(importers).toEqual(['test/support/seeds.ts']);
});
