import { expect, test } from 'vitest';
import { isThere, pinsIn, read } from './pins.ts';

const page = read('docs/replay.md');

/** The rows of the tables that end with tests, without heads. */
const promises = page
  .split(/^\|.*\| Held by \|\n/m)
  .slice(1)
  .flatMap((rest) => rest.split('\n\n')[0]?.split('\n').slice(1) ?? [])
  .filter((line) => line.startsWith('| '))
  .map((line) => ({ promise: line.split(' | ')[0]?.slice(2) ?? '', pins: pinsIn(line) }));

test('docs/replay.md lists more than ten promises', () => {
  expect(promises.length).toBeGreaterThan(10);
  expect(promises.flatMap(({ pins }) => pins)).toHaveLength(page.split('`test/').length - 1);
});

test.each(promises)('docs/replay.md names an existing test for: $promise', ({ pins }) => {
  expect(pins).not.toEqual([]);
  expect(pins.filter((pin) => !isThere(pin))).toEqual([]);
});
