import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { claimTmpdir, sharedFolder } from './leftovers.ts';

test('a test run uses its own temporary folder', () => {
  expect(basename(tmpdir())).toMatch(/^model-router-tests-/);
});

test('a file or folder left in the temporary folder fails the run by name', () => {
  const release = claimTmpdir();
  const folder = tmpdir();
  writeFileSync(join(folder, 'seed.json'), '{}');
  mkdirSync(join(folder, 'cdk.out1'));
  expect(release).toThrow('temporary folder: cdk.out1, seed.json');
  expect(existsSync(folder)).toBe(false);
});

test('a temporary folder with only shared files at the end does not fail the run', () => {
  const outer = tmpdir();
  const release = claimTmpdir();
  const folder = tmpdir();
  mkdirSync(join(sharedFolder(), 'app'), { recursive: true });
  expect(folder).not.toBe(outer);
  release();
  expect([existsSync(folder), tmpdir()]).toEqual([false, outer]);
});
