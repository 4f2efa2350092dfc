import { describe, expect, test } from 'vitest';
import type { GenerationRequest } from '../../../lambdas/protocols/generation.ts';
import type { CallerProtocolName } from '../../../lambdas/protocols/protocol.ts';
import { CALLERS, type UpstreamCase, upstreamCases } from '../../support/golden.ts';
import { checksAll } from '../../support/seeds.ts';
import { assertWellFormed, requestOf, translate } from '../../support/translate.ts';

const SAMPLE_SIZES = checksAll ? [1, 2, 3, 7, 64] : [1, 7];

/**
 * The caller's request, with the fields of the case. A field that only one family has is marked so in
 * the case, and the other family's caller asks without the fields.
 */
const requestFor = ({ read }: UpstreamCase, to: CallerProtocolName): GenerationRequest => {
  const { stop, ...rest } = JSON.parse(read('request.json') ?? '{}');
  const {
    'chat-only': chatOnly,
    'messages-only': messagesOnly,
    'responses-only': responsesOnly,
    ...fields
  } = rest;
  const marks = { chat: chatOnly, messages: messagesOnly, responses: responsesOnly };
  const isAnothers = Object.entries(marks).some(([name, mark]) => mark && name !== to);
  if (isAnothers || (to === 'responses' && !responsesOnly)) return requestOf(to);
  const stops = stop === undefined ? {} : { [to === 'chat' ? 'stop' : 'stop_sequences']: stop };
  return requestOf(to, { ...fields, ...stops });
};

const cases = upstreamCases('streams', 'sse');

test('the grid of streams is as large as it was', () => {
  expect(cases.length).toBeGreaterThanOrEqual(100);
});

const isMultibyte = ({ input }: UpstreamCase): boolean => Buffer.byteLength(input) > input.length;

describe.each(CALLERS)('a stream as a caller of %s reads it', (to) => {
  test.each(cases)('$name', async (example) => {
    const { from, input } = example;
    const request = requestFor(example, to);
    const told = await translate(from, to, input, { request });
    example.expectGolden(`for-${to}.sse`, told);
    assertWellFormed(to, told, from);
    for (const size of SAMPLE_SIZES) {
      expect(await translate(from, to, input, { request, sizes: [size] })).toBe(told);
    }
  });

  test.each(cases.filter(isMultibyte))('$name, cut at any byte', async (example) => {
    const { from, input } = example;
    const bytes = Buffer.from(input);
    // The sizes above cut between any two characters.
    const isInside = (at: number) => ((bytes[at] ?? 0) & 0xc0) === 0x80;
    const request = requestFor(example, to);
    const told = await translate(from, to, input, { request });
    const { length } = bytes;
    for (let at = 1; at < length; at += 1) {
      if (!checksAll && !isInside(at)) continue;
      expect(await translate(from, to, input, { request, sizes: [at, length] })).toBe(told);
    }
  });
});
