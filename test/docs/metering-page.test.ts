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

test('docs/metering.md lists more than 30 promises', () => {
  expect(promises.length).toBeGreaterThan(30);
});

test.each(promises)('docs/metering.md names an existing test for: $promise', ({ pins }) => {
  expect(pins).not.toEqual([]);
  expect(pins.filter((pin) => !isThere(pin))).toEqual([]);
});

test('every test that docs/metering.md names exists', () => {
  const pins = pinsIn(page);
  expect(pins.length).toBeGreaterThan(promises.length);
  expect(pins.filter((pin) => !isThere(pin))).toEqual([]);
  expect(pins).toHaveLength(page.split('`test/').length - 1);
});
