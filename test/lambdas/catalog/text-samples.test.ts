import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { countingOf, estimateTexts } from '../../../lambdas/catalog/estimate-tokens.ts';
import { cpuMsOf } from '../../support/cpu-time.ts';
import { fc } from '../../support/seeds.ts';
import { TOKEN_SAMPLES } from './token-samples.ts';

const { weights } = countingOf({ model: 'gpt-6' });

const tokensOf = (...texts: string[]): number => estimateTexts(texts, weights);
/** Without samples, in pieces that are read whole. */
const wholeCount = (texts: string[]): number =>
  (texts.join('\0').match(/.{1,100000}/gs) ?? []).reduce(
    (sum, piece) => sum + estimateTexts([piece], weights, piece.length),
    0,
  );

const root = new URL('../../../', import.meta.url);
const readAll = (folder: string, ending: string): string =>
  readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => readFileSync(new URL(`${folder}/${name}`, root), 'utf8'))
    .join('\n');

const prose = readAll('docs', '.md').repeat(3);
const code = readAll('lambdas', '.ts');
const json = readAll('test/fixtures/requests', '.json');
const chinese = '模型路由器把请求发送给提供者,并且从不丢失计数。'.repeat(20_000);
const everyKind = TOKEN_SAMPLES.map(({ text }) => text.repeat(50)).join('\n');
const manySamples = Array.from({ length: 300 }, () => TOKEN_SAMPLES.map(({ text }) => text)).flat();

/** Texts of every kind that agents send, long enough to be sampled. */
const CORPORA: Record<string, string[]> = {
  prose: [prose],
  code: [code],
  json: [json],
  Chinese: [chinese],
  'every kind': [everyKind],
  'prose, then code, then Chinese': [prose, code, chinese],
  'one long text between many short ones': [
    ...prose.split('\n'),
    code,
    ...json.split('\n').slice(0, 3_000),
  ],
  'thousands of paragraphs': code.split('\n\n'),
  'thousands of messages of every kind': manySamples,
};

describe('a long prompt', () => {
  test.each(Object.entries(CORPORA))(
    'the sampled count of %s is within 3 percent of a whole count',
    (_, texts) => {
      expect(texts.join('').length).toBeGreaterThan(150_000);
      expect(Math.abs(tokensOf(...texts) / wholeCount(texts) - 1)).toBeLessThan(0.03);
    },
  );

  test('a prompt that grows never counts less, however much of it is sampled', () => {
    let before = 0;
    for (let length = 500; length < code.length; length += 7_919) {
      const tokens = tokensOf(code.slice(0, length), 'Hm.');
      expect(tokens).toBeGreaterThanOrEqual(before);
      before = tokens;
    }
  });

  test('repeated text counts twice as many tokens', () => {
    expect(Math.abs(tokensOf(code, code) / tokensOf(code) - 2)).toBeLessThan(0.06);
  });
});

describe('the estimate of a text', () => {
  test.each(TOKEN_SAMPLES)('$of is near what a tokenizer counts', ({ o200k, within, text }) => {
    expect(Math.abs(tokensOf(text) / o200k - 1)).toBeLessThan(within);
  });

  test('texts of all kinds together are within 3 % of what a tokenizer counts', () => {
    const counted = TOKEN_SAMPLES.reduce((total, { o200k }) => total + o200k, 0);
    const estimated = TOKEN_SAMPLES.reduce((total, { text }) => total + tokensOf(text), 0);
    expect(Math.abs(estimated / counted - 1)).toBeLessThan(0.03);
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

  test('a text has no negative number of tokens, and at most three for each character', () => {
    expect(tokensOf('')).toBe(0);
    fc.assert(
      fc.property(anyText, (text) => {
        expect(tokensOf(text)).toBeGreaterThanOrEqual(0);
        expect(tokensOf(text)).toBeLessThanOrEqual(3 * text.length);
      }),
    );
  });

  test('joined texts count as much as apart, except for the words where they meet', () => {
    fc.assert(
      fc.property(anyText, anyText, (one, other) => {
        const apart = tokensOf(one) + tokensOf(other);
        expect(Math.abs(tokensOf(one + other) - apart)).toBeLessThan(6 + 0.1 * apart);
      }),
    );
  });

  test('a text that grows by any other never counts less', () => {
    fc.assert(
      fc.property(anyText, anyText, (text, more) => {
        expect(tokensOf(text + more)).toBeGreaterThanOrEqual(tokensOf(text));
      }),
    );
  });

  test('five million characters of any run are counted in a second of CPU', () => {
    const runs = [
      'a',
      'A',
      'aB',
      'A1',
      ' ',
      '\n ',
      '=',
      '}) ',
      '\ud83d',
      '中',
      'é',
      '\0',
      '\u200d',
    ];
    for (const run of runs) {
      const text = run.repeat(5_000_000 / run.length);
      expect(cpuMsOf(() => tokensOf(text))).toBeLessThan(1_000);
    }
  });
});
