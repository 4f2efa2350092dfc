import { expect, test } from 'vitest';
import { read } from './pins.ts';

const DOORS = ['calling', 'operating', 'finance', 'on-call'].map((name) => `docs/${name}.md`);
const MOST_WORDS = 1_500;
/** Lines that a reader sees first. */
const FIRST_SCREEN = 25;

/** Rows of the index that have a question, with the links of its answer. */
const questions = [...read('docs/README.md').matchAll(/^\| (.+\?) \| (.+) \|$/gm)].map(
  ([, question = '', answer = '']) => ({ question, links: answer.match(/\]\([^)]+\)/g) ?? [] }),
);

test.each([...DOORS, 'CONTRIBUTING.md'])(
  'the door $0 has at most 1,500 words, and begins with a picture and a command',
  (page) => {
    const text = read(page);
    expect(text.split(/\s+/).length).toBeLessThanOrEqual(MOST_WORDS);
    const head = text.split('\n').slice(0, FIRST_SCREEN).join('\n');
    const [picture, command] = [head.search(/^!\[|^```mermaid/m), head.search(/^```sh/m)];
    expect(picture).toBeGreaterThan(-1);
    expect(command).toBeGreaterThan(-1);
  },
);

test('docs/README.md leads to all five doors, and answers 25 questions each with a link', () => {
  const index = read('docs/README.md');
  for (const page of DOORS) expect(index).toContain(`](${page.slice('docs/'.length)})`);
  expect(index).toContain('](../CONTRIBUTING.md)');
  expect(questions.length).toBeGreaterThanOrEqual(25);
  // test/docs/paths.test.ts: each leads to a page and its heading.
  expect(questions.filter(({ links }) => links.length === 0)).toEqual([]);
});
