import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { countText } from '../../../lambdas/catalog/estimate-tokens.ts';
import { tokensOfText } from '../../../lambdas/catalog/tokens-of-text.ts';
import { fc } from '../../support/seeds.ts';
import { TOKEN_SAMPLES } from './token-samples.ts';

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

const wholeCount = (texts: string[]): number =>
  texts.reduce((total, text) => total + tokensOfText(text), 0);

/** What the contract lets the count be off by. */
const HEADROOM = 0.05;

/** Texts of every kind that agents send, long enough to be sampled. */
const CORPORA: Record<string, string[]> = {
  prose: [prose],
  code: [code],
  json: [json],
  chinese: [chinese],
  'every kind': [everyKind],
  'prose, then code, then Chinese': [prose, code, chinese],
  'one long text between many short ones': [
    ...prose.split('\n'),
    code,
    ...json.split('\n').slice(0, 3_000),
  ],
  'thousands of short messages': code.split('\n\n'),
};

describe('a long prompt', () => {
  test.each(Object.entries(CORPORA))(
    'the sampled count of %s is within the headroom of a whole count',
    (_, texts) => {
      expect(texts.join('').length).toBeGreaterThan(150_000);
      const error = countText(texts) / wholeCount(texts) - 1;
      expect(Math.abs(error)).toBeLessThan(HEADROOM);
    },
  );

  test('repeated text counts twice as many tokens', () => {
    const ratio = countText([code, code]) / countText([code]);
    expect(Math.abs(ratio - 2)).toBeLessThan(2 * HEADROOM);
  });
});

test('a prompt of ordinary length is read whole', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme', maxLength: 200 })), (texts) => {
      expect(countText(texts)).toBe(Math.ceil(wholeCount(texts)));
    }),
  );
});
