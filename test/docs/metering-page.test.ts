import { expect, test } from 'vitest';
import { isThere, pinsIn, read } from './pins.ts';

/** With its wrapped lines joined. */
const page = read('docs/metering.md').replaceAll(/(?<!\n)\n *(?![\n|])/g, ' ');

/** The rows of the tables of promises: the last cell names the tests. */
const promises = page
  .split('| Promise | Held by |\n|---|---|\n')
  .slice(1)
  .flatMap((rest) => rest.split('\n\n')[0]?.trim().split('\n') ?? [])
  .map((line) => ({ promise: line.split(' | ')[0]?.slice(2) ?? '', pins: pinsIn(line) }));

test('the page of metering makes promises', () => {
  expect(promises.length).toBeGreaterThan(30);
});

test.each(promises)('a test holds: $promise', ({ pins }) => {
  expect(pins).not.toEqual([]);
  expect(pins.filter((pin) => !isThere(pin))).toEqual([]);
});

test('every test that the page names is there', () => {
  const pins = pinsIn(page);
  expect(pins.length).toBeGreaterThan(promises.length);
  expect(pins.filter((pin) => !isThere(pin))).toEqual([]);
  expect(pins).toHaveLength(page.split('`test/').length - 1);
});
