import { describe, expect, test } from 'vitest';
import { CHECKED, createScore, shareWithin } from './score.ts';

const score = createScore();

describe.each(Object.keys(CHECKED))('the estimate for the family %s', (family) => {
  const { requests, documents } = score(family);

  test(`the checking set of ${family} has 40 requests and 30 documents whose true counts are known`, () => {
    // Fewer: a package has other texts now. docs/decisions/0005-token-estimate.md says how to count them again.
    expect(requests.length).toBeGreaterThanOrEqual(40);
    expect(documents.length).toBeGreaterThanOrEqual(30);
  });

  test(`90 % of whole agent requests are estimated within 5 % for ${family}`, () => {
    expect(shareWithin(requests, 0.05)).toBeGreaterThanOrEqual(0.9);
    expect(shareWithin(requests, 0.15)).toBe(1);
  });

  test(`85 % of documents in 30 languages are estimated within 10 % for ${family}`, () => {
    expect(shareWithin(documents, 0.1)).toBeGreaterThanOrEqual(0.85);
  });

  test(`no request and no document is above a band of 15 % for ${family}`, () => {
    expect([...requests, ...documents].filter((error) => error > 1 / 0.85 - 1)).toEqual([]);
  });
});
