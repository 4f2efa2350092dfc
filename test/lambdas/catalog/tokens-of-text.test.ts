import { describe, expect, test } from 'vitest';
import { tokensOfText } from '../../../lambdas/catalog/tokens-of-text.ts';
import { fc } from '../../support/seeds.ts';
import { TOKEN_SAMPLES } from './token-samples.ts';

describe('the estimate of a text', () => {
  test.each(TOKEN_SAMPLES)('$of is near what a tokenizer counts', ({ o200k, within, text }) => {
    expect(Math.abs(tokensOfText(text) / o200k - 1)).toBeLessThan(within);
  });

  test.each([
    ['digits go by three', '314159265358979323846264338327950288', 12],
    ['signs that differ go by a few', 'if (!(((a || b) && [c]) ?? {})) { f(() => ({})); }', 22],
    ['equal signs are one', '-'.repeat(60), 2],
    ['a letter again and again', 'AAAAAAAAAAAAAAAA7AAAAAAAAAAAAAAAA', 5],
    ['blanks are one', `${' '.repeat(60)}x`, 2],
    ['letters among digits are no words', 'k3qzt9vbnwx2hjrp7mfd4gxs8ltk', 19],
  ])('%s', (_, text, o200k) => {
    expect(Math.abs(tokensOfText(text) - o200k)).toBeLessThan(2);
  });

  test('all of them together are within 2 %', () => {
    const counted = TOKEN_SAMPLES.reduce((total, { o200k }) => total + o200k, 0);
    const estimated = TOKEN_SAMPLES.reduce((total, { text }) => total + tokensOfText(text), 0);
    expect(Math.abs(estimated / counted - 1)).toBeLessThan(0.02);
  });
});

describe('any text', () => {
  const anyText = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 200 }),
    fc.string({ unit: 'binary', maxLength: 200 }),
    fc.string({ unit: fc.nat({ max: 0xffff }).map((code) => String.fromCharCode(code)) }),
    fc.string({ unit: fc.constantFrom('a', 'A', '9', '=', ' ', '\n', 'é', 'я', '\ud83d') }),
    fc.constantFrom(...TOKEN_SAMPLES.map(({ text }) => text)),
  );

  test('text has at least one token unless it is empty, and at most two per character', () => {
    expect(tokensOfText('')).toBe(0);
    fc.assert(
      fc.property(anyText, (text) => {
        const tokens = tokensOfText(text);
        expect(tokens).toBeGreaterThanOrEqual(text === '' ? 0 : 1);
        expect(tokens).toBeLessThanOrEqual(2.5 * text.length);
      }),
    );
  });

  test('joined texts count as much as apart, except for the words where they meet', () => {
    fc.assert(
      fc.property(anyText, anyText, (one, other) => {
        const apart = tokensOfText(one) + tokensOfText(other);
        expect(Math.abs(tokensOfText(one + other) - apart)).toBeLessThan(4 + 0.1 * apart);
      }),
    );
  });

  test.each(TOKEN_SAMPLES)('$of never counts much less with one more character', ({ text }) => {
    const counts = Array.from(text, (_, at) => tokensOfText(text.slice(0, at)));
    const drops = counts.map((count, at) => (counts[at - 1] ?? 0) - count);
    expect(Math.max(...drops)).toBeLessThan(2);
  });

  test('counting tokens takes time linear in the length of the text', () => {
    const runs = ['a', 'A', 'aB', 'A1', ' ', '\n ', '=', '}) ', '\ud83d', '中', 'é', '\0'];
    const from = performance.now();
    for (const run of runs) tokensOfText(run.repeat(200_000 / run.length));
    expect(performance.now() - from).toBeLessThan(3_000);
  });
});
