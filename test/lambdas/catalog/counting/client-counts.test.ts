import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readingDigest, readMeasured, rowsOf } from './client-counts.ts';
import { CHECKED, createScore, medianPercent, percentWithin } from './score.ts';

const page = readFileSync(
  new URL('../../../../docs/decisions/0005-token-estimate.md', import.meta.url),
  'utf8',
);
const rowsAfter = (start: string): string[] => {
  const [, table = ''] = page.split(start);
  return table.split('\n\n')[0]?.split('\n').slice(2) ?? [];
};

test('the table of counts by client is what its framings make of the requests that clients sent', () => {
  expect(rowsAfter('\n| Client ').slice(-rowsOf(readMeasured()).length)).toEqual(
    rowsOf(readMeasured()),
  );
});

test('texts are read as they were when the requests of clients were measured', () => {
  // Else the requests are to be recorded and counted again: true_counts.py says how.
  expect(readingDigest()).toBe(readMeasured().reading);
});

test('the table of counts by family is what the checking set gives', () => {
  const score = createScore();
  const figures = Object.keys(CHECKED).map((family) => {
    const { requests, documents } = score(family);
    const of = (errors: number[], limit: number) => [
      percentWithin(errors, limit),
      medianPercent(errors),
    ];
    return [...of(requests, 0.05), ...of(documents, 0.1)];
  });
  const rows = rowsAfter('\n| Family ').map((row) =>
    row
      .split(' | ')
      .slice(1)
      .map((cell) => cell.replace(/ \|$/, '')),
  );
  expect(rows).toEqual(figures);
});
