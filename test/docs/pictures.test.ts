import { readdirSync, readFileSync, statSync } from 'node:fs';
import { expect, test } from 'vitest';

const FOLDER = 'docs/pictures';
const pictures = readdirSync(FOLDER);

test('the page of the console shows every picture, and all are below 600 KB together', () => {
  const page = readFileSync('docs/console.md', 'utf8');
  expect(pictures.filter((name) => !page.includes(`](pictures/${name})`))).toEqual([]);
  const bytes = pictures.map((name) => statSync(`${FOLDER}/${name}`).size);
  expect(bytes.reduce((sum, size) => sum + size, 0)).toBeLessThan(600_000);
});
