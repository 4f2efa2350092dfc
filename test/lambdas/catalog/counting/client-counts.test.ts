import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { calibratedFraming } from '../../../../lambdas/catalog/calibrate.ts';
import { countingOf, framedTokens } from '../../../../lambdas/catalog/estimate-tokens.ts';
import { medianOf, readMeasured, readSamples, rowsOf } from './client-counts.ts';
import { drawFrom } from './compose-requests.ts';
import { CHECKED, createScore, shareWithin } from './score.ts';

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
  const { samples } = readMeasured();
  const changed = readSamples().filter(
    (tokens, index) => Math.abs(tokens / (samples[index] ?? 0) - 1) > 0.002,
  );
  expect(changed).toEqual([]);
});

test('the table of counts by family is what the checking set gives, within a rounding', () => {
  const score = createScore();
  const figures = Object.keys(CHECKED).flatMap((family) => {
    const { requests, documents } = score(family);
    const of = (errors: number[], limit: number) => [
      100 * shareWithin(errors, limit),
      100 * medianOf(errors.map(Math.abs)),
    ];
    return [...of(requests, 0.05), ...of(documents, 0.1)];
  });
  const written = rowsAfter('\n| Family ').flatMap((row) =>
    [...row.matchAll(/ ([\d.]+) % /g)].map(([, percent]) => Number(percent)),
  );
  expect(written).toHaveLength(figures.length);
  const wrong = written.filter((percent, index) => {
    const rounding = index % 2 === 0 ? 2 : 0.11;
    return Math.abs(percent - (figures[index] ?? 0)) > rounding;
  });
  expect(wrong).toEqual([]);
});

describe.each(Object.entries(CHECKED))('requests of clients to a target of %s', (family, model) => {
  const { clients, families } = readMeasured();
  const index = families.indexOf(family);
  const { framing } = countingOf({ model });
  const all = clients.flatMap(({ requests }) =>
    requests.map(({ tokens, counts }) => ({
      tokens: tokens[index] ?? 0,
      counts: counts[index] ?? [],
    })),
  );

  test(`90 % are counted within 5 % for ${family}`, () => {
    const errors = all.map(
      ({ tokens, counts }) => Math.ceil(framedTokens(framing, counts)) / tokens - 1,
    );
    expect(shareWithin(errors, 0.05)).toBeGreaterThanOrEqual(0.9);
  });

  test(`after ten answers in twelve orders 95 % of the others are counted within 5 % for ${family}`, () => {
    const errors = Array.from({ length: 12 }, (_, seed) => {
      const draw = drawFrom(seed + 1);
      const order = all
        .map((request) => ({ request, place: draw(1_000_000) }))
        .toSorted((one, other) => one.place - other.place)
        .map(({ request }) => request);
      const fitted = calibratedFraming(order.slice(0, 10), framing)?.framing ?? [];
      return order
        .slice(10)
        .map(({ tokens, counts }) => Math.ceil(framedTokens(fitted, counts)) / tokens - 1);
    }).flat();
    expect(shareWithin(errors, 0.05)).toBeGreaterThanOrEqual(0.95);
  });
});
