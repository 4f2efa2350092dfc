import { expect, test } from 'vitest';
import { estimateInputTokens } from '../../../lambdas/catalog/estimate-tokens.ts';
import type { UpstreamProtocolName } from '../../../lambdas/protocols/protocol.ts';
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
