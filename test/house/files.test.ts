import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

const sources = ['bin', 'cli', 'console', 'lib', 'lambdas', 'local'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.tsx?$/.test(path))
    .map((path) => join(folder, path))
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') })),
);

const lines = ({ text }: { text: string }): number => text.split('\n').length - 1;

/** Paths of the sources that match `pattern`. */
const offenders = (pattern: RegExp, files = sources): string[] =>
  files.filter(({ text }) => pattern.test(text)).map(({ path }) => path);

describe('the source files', () => {
  test('more than 30 source files are checked', () => {
    expect(sources.length).toBeGreaterThan(30);
  });

  test('no source file is over 300 lines, nine of ten have at most 200, half at most 90', () => {
    const sorted = sources.map(lines).toSorted((a, b) => a - b);
    const quantile = (share: number) => sorted[Math.ceil(share * sorted.length) - 1];
    expect(sources.filter((file) => lines(file) > 300).map(({ path }) => path)).toEqual([]);
    expect(quantile(0.9)).toBeLessThanOrEqual(200);
    expect(quantile(0.5)).toBeLessThanOrEqual(90);
  });

  test('every source file name is in kebab-case', () => {
    const odd = sources.filter(({ path }) => !/^([a-z0-9-]+\/)+[a-z0-9-]+(\.d)?\.tsx?$/.test(path));
    expect(odd.map(({ path }) => path)).toEqual([]);
  });

  test('no source file disables a checker', () => {
    expect(offenders(/@ts-(ignore|expect-error|nocheck)|biome-ignore|eslint-disable/)).toEqual([]);
  });

  test('no object of lambdas/ has an accessor, which V8 keeps with all it captures until a full collection', () => {
    const inLambdas = sources.filter(({ path }) => path.startsWith('lambdas/'));
    expect(offenders(/^ *(?:static )?[gs]et \w+\(/m, inLambdas)).toEqual([]);
  });

  test('folders of lambdas/ get the clock and random bytes as arguments', () => {
    const inFolders = sources.filter(({ path }) =>
      /^lambdas\/(?!support\/clock\.ts)[^/]+\//.test(path),
    );
    expect(offenders(/\bDate\.now\(|\bnew Date\(\)|\bMath\.random\(/, inFolders)).toEqual([]);
    expect(offenders(/\bset(Timeout|Interval)\(/, inFolders)).toEqual([]);
    // Only entries pass these in; no folder may import them.
    expect(offenders(/\bsystemClock\b/, inFolders)).toEqual([]);
    expect(
      offenders(/\{[^}]*\brandom\w+\b[^}]*\} from 'node:crypto'|\bcrypto\.\w/, inFolders),
    ).toEqual([]);
  });
});
