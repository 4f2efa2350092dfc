import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const page = readFileSync(`${root}/docs/translation.md`, 'utf8');

/** The rows of the page's tables, heads left out; the last cell names the cases. */
const rows = page
  .split('\n')
  .filter((line) => line.startsWith('| ') && !line.includes('| Pinned by |'))
  .filter((line) => !/^\| (?:chat|messages|Caller's protocol) \|/.test(line))
  .map((line) => line.split(' | ').map((cell) => cell.replaceAll(/^\||\|$/g, '').trim()));

const casesOf = (cells: string[]): string[] =>
  [...(cells.at(-1) ?? '').matchAll(/`([^`]+)`/g)].flatMap(([, name]) => name ?? []);

test('the page of deliberate changes has rows', () => {
  expect(rows.length).toBeGreaterThan(60);
});

test.each(rows.map((cells) => ({ what: cells[0], cases: casesOf(cells) })))(
  'a row of the translation page is pinned by a case: $what',
  ({ cases }) => {
    expect(cases).not.toEqual([]);
    const missing = cases.filter((name) => !existsSync(`${root}/test/fixtures/${name}`));
    expect(missing).toEqual([]);
  },
);
