import { describe, expect, test } from 'vitest';
import { parseModels } from '../../../lambdas/catalog/parse-models.ts';
import { modelOn, targetAt } from '../../support/models.ts';

const parse = (...targets: object[]) =>
  parseModels([
    { ...modelOn([]), targets: targets.map((one) => ({ ...targetAt('https://a.test'), ...one })) },
  ]);

const UNLIKE = [{ quota: { rpm: 1 } }, { quota: { rpm: 2 } }];

describe('the tiers and quotas of a model', () => {
  test('tiers are on all targets of a model or on none', () => {
    expect(parse({}, {})).toHaveLength(1);
    expect(parse({ quota: 'learned' })[0]?.targets[0]?.quota).toEqual({ learned: true });
    expect(parse({ tier: 0, weight: 2.5, account: 'acme-main' }, { tier: 1 })).toHaveLength(1);
  });

  test.each([
    ['a target without a tier next to one with', 1, 'tier', [{ tier: 0 }, {}], 'is required'],
    ['a weight without a tier', 0, 'weight', [{ weight: 2 }, {}], 'needs a tier'],
    ['a weight of nothing', 0, 'weight', [{ tier: 0, weight: 0 }], 'must be more than 0'],
    ['half a tier', 0, 'tier', [{ tier: 0.5 }], 'integer'],
    ['a quota of nothing', 0, 'quota', [{ quota: {} }], 'must have rpm, tpm'],
    ['a quota of zero', 0, 'quota.rpm', [{ quota: { rpm: 0 } }], 'must be more than 0: a target'],
    ['a quota above a trillion', 0, 'quota.tpm', [{ quota: { tpm: 1e13 } }], 'must be at most'],
    ['a quota of half a token', 0, 'quota.otpm', [{ quota: { otpm: 0.5 } }], 'integer'],
    [
      'a learned quota with limits',
      0,
      'quota',
      [{ quota: { learned: true, rpm: 1 } }],
      'must have',
    ],
    ['a quota of another word', 0, 'quota', [{ quota: 'guessed' }], 'object'],
    ['two quotas of one account', 1, 'quota', UNLIKE, 'must be the same on all targets'],
    ['an account with white space', 0, 'account', [{ account: 'a b' }], 'must be 1 to 80'],
  ] as const)('the error names %s', (_, at, member, targets, words) => {
    const place = new RegExp(
      `${words}[^\\n]*\\n[^\\n]*at \\[0\\]\\.targets\\[${at}\\]\\.${member}$`,
      'm',
    );
    expect(() => parse(...targets)).toThrow(place);
  });
});
