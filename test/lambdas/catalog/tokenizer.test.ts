import { mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Tiktoken, type TiktokenBPE } from 'js-tiktoken/lite';
import cl100k from 'js-tiktoken/ranks/cl100k_base';
import o200k from 'js-tiktoken/ranks/o200k_base';
import { afterAll, describe, expect, test } from 'vitest';
import { flattenTokenizers } from '../../../lambdas/catalog/flatten-tokenizer.ts';
import { createTokenizers } from '../../../lambdas/catalog/tokenizer.ts';
import { modelOn, targetAt } from '../../support/models.ts';
import { readDocuments } from './counting/checking-texts.ts';

const folder = mkdtempSync(join(tmpdir(), 'tokenizers-'));
afterAll(() => rm(folder, { recursive: true }));

/** Tokens in base64 in the order of their ranks: the package has lines of `! first token token …`. */
const ranksOf = ({ bpe_ranks: text }: TiktokenBPE): string[] =>
  text.split('\n').flatMap((line) => line.split(' ').slice(2));

/** A file of ranks, as tiktoken downloads it. */
const ranksFile = (tokens: string[]): string =>
  tokens.map((token, rank) => `${token} ${rank}`).join('\n');

/** The tokenizer of a file, by the way of a catalog that names it. */
const open = (name: string, content: string) => {
  writeFileSync(join(folder, name), content);
  const models = [modelOn([targetAt('http://a.test', { counting: { tokenizer: name } })])];
  const { models: flat, files } = flattenTokenizers(models, folder);
  const flatName = flat[0]?.targets[0]?.counting?.tokenizer ?? '';
  return createTokenizers((file) => files.get(file) ?? new Uint8Array())(flatName);
};

/** Texts that are hard to cut: other scripts, joined emoji, long runs, halves of pairs, special tokens. */
const HARD = [
  '',
  'a',
  "I'll we'RE don’t O'Neill",
  'ทดสอบภาษาไทย ລາວ ಕನ್ನಡ አማርኛ',
  '👩‍👩‍👧‍👦🇩🇪 e\u0301 \u0085\u00a0\ufeff x',
  'a'.repeat(200),
  `${' '.repeat(300)}x\n\n\n  y`,
  '1234567890 3.14159 0xdeadbeef',
  '<|endoftext|> <|im_start|>',
  'lone \ud83d half',
];

const CHECKED: [name: string, TiktokenBPE][] = [
  ['o200k', o200k],
  ['cl100k', cl100k],
];

describe.each(CHECKED)('a file of the ranks of %s', (name, bpe) => {
  const mine = open(`${name}.tiktoken`, ranksFile(ranksOf(bpe)));
  const theirs = new Tiktoken(bpe);
  const truth = (text: string) => theirs.encode(text, [], []).length;

  test(`95 % of documents in 30 languages are within 2 % of what ${name}'s own tokenizer counts`, () => {
    const errors = readDocuments().map(([, text]) => Math.abs(mine.count(text) / truth(text) - 1));
    expect(errors.length).toBeGreaterThan(30);
    expect(errors.filter((error) => error <= 0.02).length / errors.length).toBeGreaterThan(0.95);
  });

  test.each(HARD.map((text) => [JSON.stringify(text).slice(0, 30), text]))(
    `the count of ${name} for %s is exact`,
    (_, text) => {
      expect(mine.count(text)).toBe(truth(text));
    },
  );
});

// --- tokenizer.json ---

const SIZE = 5_000;
const ranks = ranksOf(cl100k).slice(0, SIZE);
const small = new Tiktoken({ ...cl100k, bpe_ranks: `! 0 ${ranks.join(' ')}` });
const rankOf = new Map(ranks.map((token, rank) => [token, rank]));
const base64 = (bytes: number[]): string => Buffer.from(bytes).toString('base64');

/** The two parts of a token: what merges of lower ranks make of its bytes. */
const pairOf = (token: string, rank: number): number[][] => {
  let parts = [...Buffer.from(token, 'base64')].map((byte) => [byte]);
  while (parts.length > 2) {
    const joined = parts.map((part, index) => {
      const next = parts[index + 1];
      const found = next ? rankOf.get(base64([...part, ...next])) : undefined;
      return found !== undefined && found < rank ? found : Number.POSITIVE_INFINITY;
    });
    const best = joined.indexOf(Math.min(...joined));
    parts = parts.flatMap((part, index) => {
      if (index === best) return [[...part, ...(parts[index + 1] ?? [])]];
      return index === best + 1 ? [] : [part];
    });
  }
  return parts;
};

/** As byte-level vocabularies write a byte. */
const isPlain = (byte: number) =>
  (byte > 32 && byte < 127) || (byte > 160 && byte !== 173 && byte < 256);
const others = Array.from({ length: 256 }, (_, byte) => byte).filter((byte) => !isPlain(byte));
const written = (bytes: number[]): string =>
  bytes
    .map((byte) => String.fromCharCode(isPlain(byte) ? byte : 256 + others.indexOf(byte)))
    .join('');

const tokenizerJson = (model: object = {}, rest: object = {}): string =>
  JSON.stringify({
    normalizer: { type: 'NFC' },
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [
        {
          type: 'Split',
          pattern: { Regex: cl100k.pat_str },
          behavior: 'Isolated',
          invert: false,
        },
        { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false },
      ],
    },
    ...rest,
    model: {
      type: 'BPE',
      vocab: Object.fromEntries(
        ranks.map((token, rank) => [written([...Buffer.from(token, 'base64')]), rank]),
      ),
      merges: ranks.flatMap((token, rank) => {
        const [one, other] = pairOf(token, rank);
        return one && other ? [`${written(one)} ${written(other)}`] : [];
      }),
      ...model,
    },
  });

describe('a tokenizer.json', () => {
  test('the count of a byte-level vocabulary with merges is exact in 30 languages, in composed form', () => {
    const mine = open('tokenizer.json', tokenizerJson());
    for (const [source, text] of readDocuments().slice(0, 40)) {
      const part = text.slice(0, 1_000);
      const truth = small.encode(part.normalize('NFC'), [], []).length;
      expect([source, mine.count(part.normalize('NFD'))]).toEqual([source, truth]);
    }
  });

  test.each([
    // As DeepSeek publishes it.
    ['an empty sequence of normalizers', { normalizer: { type: 'Sequence', normalizers: [] } }],
    // As MiniMax publishes it: what matches is kept.
    [
      'a pattern whose rest is removed',
      {
        pre_tokenizer: {
          type: 'Sequence',
          pretokenizers: [
            {
              type: 'Split',
              pattern: { Regex: cl100k.pat_str },
              behavior: 'Removed',
              invert: true,
            },
            { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false },
          ],
        },
      },
    ],
  ])('the count of a vocabulary with %s is exact', (_, header) => {
    const mine = open('vendor.json', tokenizerJson({}, header));
    for (const [source, text] of readDocuments().slice(0, 40)) {
      const part = text.slice(0, 1_000).normalize('NFC');
      expect([source, mine.count(part)]).toEqual([source, small.encode(part, [], []).length]);
    }
  });

  test.each([
    ['SentencePiece', tokenizerJson({ byte_fallback: true }), 'not SentencePiece'],
    ['Unigram', tokenizerJson({ type: 'Unigram' }), 'only byte-level BPE'],
    ['another normalizer', tokenizerJson({}, { normalizer: { type: 'NFKC' } }), 'normalizer NFKC'],
    ['no byte level', tokenizerJson({}, { pre_tokenizer: null }), 'no pre-tokenizer ByteLevel'],
    ['text that is no ranks', 'hello world', "not a rank: 'hello world'"],
  ])('a file with %s is rejected with its path and what is not supported', (_, content, words) => {
    expect(() => open('other.json', content)).toThrow(
      new RegExp(`The tokenizer other\\.json cannot be used: .*${words}`),
    );
  });

  test('a file that does not exist is rejected with its path', () => {
    const models = [modelOn([targetAt('http://a.test', { counting: { tokenizer: 'none.json' } })])];
    expect(() => flattenTokenizers(models, folder)).toThrow('The tokenizer none.json cannot be');
  });
});
