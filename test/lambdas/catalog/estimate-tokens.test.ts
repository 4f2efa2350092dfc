import { describe, expect, test } from 'vitest';
import {
  countingOf,
  estimateInputTokens,
  leastInputTokens,
} from '../../../lambdas/catalog/estimate-tokens.ts';
import {
  type Family as CountedFamily,
  FAMILIES,
  framingOf,
} from '../../../lambdas/catalog/families.ts';
import { partsOf } from '../../../lambdas/catalog/request-parts.ts';
import type { Family } from '../../support/families.ts';
import { fc } from '../../support/seeds.ts';
import { requestOf } from '../../support/translate.ts';

const bytesOf = (kilobytes: number): string =>
  Buffer.alloc(kilobytes * 1_000, 'Zk9!').toString('base64');

const countBody = (protocol: Family, body: object, model: string): number =>
  estimateInputTokens(partsOf(requestOf(protocol, body)), countingOf({ model }));

const tokensOf = (protocol: Family, part: object): number =>
  countBody(protocol, { messages: [{ role: 'user', content: [part] }] }, 'large');

const pdf = (kilobytes: number) => ({
  type: 'document',
  source: { type: 'base64', media_type: 'application/pdf', data: bytesOf(kilobytes) },
});

test('a PDF counts by the pages in its file, not by its size', () => {
  const pageTree = '1 0 obj << /Type /Pages /Count 2 >> endobj';
  const page = '<< /Type /Page /Parent 1 0 R >>';
  const count = (file: string) => {
    const data = Buffer.from(`%PDF-1.7\n${file}`).toString('base64');
    const source = { type: 'base64', media_type: 'application/pdf', data };
    return tokensOf('messages', { type: 'document', source });
  };
  const one = count(`${pageTree} ${page}`);
  expect(count(`${pageTree} ${page} ${page}`)).toBe(one + 2_300);
  expect(count(`${pageTree} ${page} ${'x'.repeat(500_000)}`)).toBe(one);
});

test('a PDF of 25 pages and 2 MB fits a model of 200,000 tokens, and is not taken for nothing', () => {
  expect(tokensOf('messages', pdf(2_000))).toBeLessThan(100_000);
  expect(tokensOf('messages', pdf(2_000))).toBeGreaterThan(50_000);
});

test('a file of text in base64 counts as its text', () => {
  const data = Buffer.from('All is well today. '.repeat(1_000)).toString('base64');
  const file = { filename: 'a.txt', file_data: `data:text/plain;base64,${data}` };
  const tokens = tokensOf('chat', { type: 'file', file });
  expect(tokens).toBeGreaterThan(4_000);
  expect(tokens).toBeLessThan(6_000);
});

test('sound counts as a medium, not as the letters of its bytes', () => {
  const sound = { type: 'input_audio', input_audio: { data: bytesOf(3_000), format: 'wav' } };
  expect(tokensOf('chat', sound)).toBeLessThan(2_000);
});

test('what only one vendor knows counts as its text', () => {
  const block = { type: 'advisor_note', note: 'All is well today. '.repeat(1_000) };
  expect(tokensOf('messages', block)).toBeGreaterThan(4_200);
});

const MODELS = [
  'gpt-6',
  'claude-sonnet-4-5',
  'claude-opus-4-8',
  'glm-5.2',
  'MiniMax-M3',
  'qwen3.5',
];
const say = (content: string) => ({ role: 'user', content });
const anyText = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 200 });
const toolNamed = (name: string, description: string) => ({
  name,
  description,
  input_schema: { type: 'object', properties: { path: { type: 'string', description } } },
});

describe.each(MODELS)('the estimate for %s', (model) => {
  const count = (messages: object[], tools: object[] = []) =>
    countBody('messages', { messages, tools }, model);

  test(`another message, tool or text never lowers the estimate for ${model}`, () => {
    fc.assert(
      fc.property(fc.array(anyText, { minLength: 1, maxLength: 4 }), anyText, (texts, more) => {
        const messages = texts.map(say);
        const before = count(messages, [toolNamed('f', more)]);
        expect(before).toBeGreaterThanOrEqual(1);
        expect(Number.isInteger(before)).toBe(true);
        const turns = [...messages, say(more)];
        expect(count(turns, [toolNamed('f', more)])).toBeGreaterThanOrEqual(before);
        const tools = [toolNamed('f', more), toolNamed('g', more)];
        expect(count(messages, tools)).toBeGreaterThan(before);
      }),
      { numRuns: 60 },
    );
  });

  test(`ids and signatures do not count for ${model}, thinking and arguments do`, () => {
    const turn = (id: string, signature: string, thinking: string, path: string) =>
      count([
        say('Go.'),
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking, signature },
            { type: 'tool_use', id, name: 'f', input: { path } },
          ],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'ok' }] },
      ]);
    const long = 'x1'.repeat(500);
    const before = turn('a', 's', 'Hm.', 'a.ts');
    expect(turn(long, long, 'Hm.', 'a.ts')).toBe(before);
    expect(turn('a', 's', 'Hm, let me see.', 'a.ts')).toBeGreaterThan(before);
    expect(turn('a', 's', 'Hm.', 'src/other/a.ts')).toBeGreaterThan(before);
  });
});

test('arguments that are deep or no JSON count as their text', () => {
  const turn = (text: string) => [
    { role: 'user', content: 'Go.' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: text } }],
    },
    { role: 'tool', tool_call_id: 'a', content: 'ok' },
  ];
  for (const text of [`{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`, '{"a": "unfini']) {
    expect(countBody('chat', { messages: turn(text) }, 'glm-5.2')).toBeGreaterThan(20);
  }
});

test('a target counts as its catalog entry states, whatever the name of its model', () => {
  const parts = partsOf(requestOf('chat', { messages: [say('模型路由器把请求发送给提供者。')] }));
  const countAs = (counting: object) =>
    estimateInputTokens(parts, countingOf({ model: 'my-deployment', counting }));
  const glm = estimateInputTokens(parts, countingOf({ model: 'glm-5.2' }));
  expect(countAs({ family: 'glm' })).toBe(glm);
  const framing = { ...framingOf(FAMILIES.glm.framing), prompt: 1_000 };
  expect(countAs({ family: 'glm', framing })).toBeGreaterThan(1_000);
});

test('one process counts for every family and for the check of the context', () => {
  const parts = partsOf(requestOf('chat', { messages: [say('Tokens of a sentence.')] }));
  const counts = Object.keys(FAMILIES).map((family) =>
    estimateInputTokens(
      parts,
      countingOf({ model: 'my-deployment', counting: { family: family as CountedFamily } }),
    ),
  );
  const least = leastInputTokens(parts, 'my-deployment');
  expect(least).toBeGreaterThan(3);
  expect(Math.min(...counts)).toBeGreaterThan(least);
});
