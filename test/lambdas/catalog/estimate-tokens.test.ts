import { expect, test } from 'vitest';
import {
  boundInputTokens,
  estimateInputTokens,
  maxInputTokens,
} from '../../../lambdas/catalog/estimate-tokens.ts';
import type { UpstreamProtocolName } from '../../../lambdas/protocols/protocol.ts';
import { fc } from '../../support/seeds.ts';
import { requestOf } from '../../support/translate.ts';

const bytesOf = (kilobytes: number): string =>
  Buffer.alloc(kilobytes * 1_000, 'Zk9!').toString('base64');

const tokensOf = (protocol: UpstreamProtocolName, part: object): number =>
  estimateInputTokens(requestOf(protocol, { messages: [{ role: 'user', content: [part] }] }));

const pdf = (kilobytes: number) => ({
  type: 'document',
  source: { type: 'base64', media_type: 'application/pdf', data: bytesOf(kilobytes) },
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
  expect(tokensOf('messages', block)).toBeGreaterThan(4_500);
});

const text = fc.oneof(
  fc.string({ maxLength: 400 }),
  fc.string({ unit: 'binary', maxLength: 400 }),
  fc.string({
    unit: fc.constantFrom(
      '\n',
      '\t',
      '"',
      '\\',
      '{',
      '0',
      '7',
      ' ',
      '\u00e9',
      '\u4e2d',
      '\u{1f600}',
    ),
  }),
);
const image = fc.constant({ type: 'image', source: { type: 'url', url: 'http://a.b/c' } });
const document = fc.constant({ type: 'document', source: { type: 'url', url: 'http://a.b/c' } });
const part = fc.oneof(
  text.map((value) => ({ type: 'text', text: value })),
  image,
  document,
  fc.record({ type: fc.constant('note'), note: text }),
  fc
    .array(
      fc.oneof(
        image,
        text.map((value) => ({ type: 'text', text: value })),
      ),
      { maxLength: 3 },
    )
    .map((content) => ({ type: 'tool_result', tool_use_id: 'a', content })),
);
const tool = fc.record({
  name: fc.constant('f'),
  description: text,
  input_schema: fc.record({ type: fc.constant('object'), title: text }),
});

test('no request can have more tokens than the bound that its bytes and media set', () => {
  const bodies = fc.record({
    messages: fc.array(
      fc.record({ role: fc.constant('user'), content: fc.oneof(text, fc.array(part)) }),
      { maxLength: 6 },
    ),
    tools: fc.array(tool, { maxLength: 3 }),
  });
  fc.assert(
    fc.property(bodies, ({ messages, tools }) => {
      const body = { messages: [{ role: 'user', content: 'Hi.' }, ...messages], tools };
      const request = requestOf('messages', body);
      const bound = boundInputTokens(request, Buffer.byteLength(JSON.stringify(body)));
      expect(bound).toBeGreaterThanOrEqual(maxInputTokens(request));
    }),
    { numRuns: 500 },
  );
});
