import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string): string => readFileSync(`${root}${path}`, 'utf8');

const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };

/** What a text runs: `npm start`, `npm test`, `npm run lint`. */
const runIn = (text: string): string[] =>
  [...text.matchAll(/npm (?:run (?:-s |--silent )?)?([\w:-]+)/g)].map(([, name = '']) => name);

/** With what they run themselves. */
const withSteps = (names: string[]): Set<string> =>
  new Set(names.flatMap((name) => [name, ...runIn(scripts[name] ?? '')]));

/** Pages that state what a script run by hand is for. */
const MANUAL = ['docs/testing.md', 'CONTRIBUTING.md', 'README.md'];

test('each script of package.json runs in .ci/run, or a page lists it among those run by hand', () => {
  const checked = withSteps(runIn(read('.ci/run')));
  const manual = withSteps(MANUAL.flatMap((page) => runIn(read(page))));
  // npm runs these automatically.
  const others = Object.keys(scripts).filter((name) => !/^(?:pre|post)/.test(name));
  expect(others.length).toBeGreaterThan(30);
  expect(others.filter((name) => !checked.has(name) && !manual.has(name))).toEqual([]);
});
