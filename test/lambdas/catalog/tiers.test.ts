import { describe, expect, test } from 'vitest';
import { parseModels } from '../../../lambdas/catalog/parse-models.ts';
import { modelOn, targetAt } from '../../support/models.ts';

const parse = (...targets: object[]) =>
  parseModels([
    { ...modelOn([]), targets: targets.map((one) => ({ ...targetAt('https://a.test'), ...one })) },
  ]);

describe('the tiers of a model', () => {
  test('tiers are on all targets of a model or on none', () => {
    expect(parse({}, {})).toHaveLength(1);
    expect(parse({ tier: 0, weight: 2.5, account: 'acme-main' }, { tier: 1 })).toHaveLength(1);
  });

  test.each([
    ['a target without a tier next to one with', 1, 'tier', [{ tier: 0 }, {}], 'is required'],
    ['a weight without a tier', 0, 'weight', [{ weight: 2 }, {}], 'needs a tier'],
    ['a weight of nothing', 0, 'weight', [{ tier: 0, weight: 0 }], 'must be more than 0'],
    ['half a tier', 0, 'tier', [{ tier: 0.5 }], 'integer'],
    ['an account with white space', 0, 'account', [{ account: 'a b' }], 'must be 1 to 80'],
  ] as const)('the error names %s', (_, at, member, targets, words) => {
    const place = new RegExp(
      `${words}[^\\n]*\\n[^\\n]*at \\[0\\]\\.targets\\[${at}\\]\\.${member}$`,
      'm',
    );
    expect(() => parse(...targets)).toThrow(place);
  });
});
