import { describe, expect, test } from 'vitest';
import type { GenerationEvent } from '../../../lambdas/protocols/generation.ts';
import type { StreamDecoder } from '../../../lambdas/protocols/protocol.ts';
import { callerProtocols, upstreamProtocols } from '../../../lambdas/protocols/protocols.ts';
import { UpstreamError } from '../../../lambdas/protocols/rejections/upstream-error.ts';
import { createSseReader, withFrame } from '../../../lambdas/protocols/streams/sse.ts';
import { cpuMsOf } from '../../support/cpu-time.ts';
import { upstreamCases } from '../../support/golden.ts';
import { fc, share } from '../../support/seeds.ts';
import { LABEL, requestOf } from '../../support/translate.ts';
import type { Wire } from '../../support/wires.ts';

const REQUEST = requestOf('chat');

/** The events of each message and what a caller reads of them, up to the first failure. */
const decodeAll = (decoder: StreamDecoder, messages: string[], request = REQUEST) => {
  const caller = request === REQUEST ? callerProtocols.chat : callerProtocols.messages;
  const encoder = caller.streamEncoder(request, LABEL);
  const results: unknown[] = [];
  const add = (events: GenerationEvent[]) => {
    const sent = events.flatMap(encoder.push);
    results.push({ events: events.map(({ received: _, ...event }) => event), sent });
  };
  try {
    for (const data of messages) add(decoder.push({ data }));
    add(decoder.end());
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    results.push(error.message);
  }
  return results;
};

/** For a caller of the same protocol, whose messages are relayed, and for one of another. */
const assertSame = (name: Wire, messages: string[]) => {
  for (const request of [REQUEST, requestOf('messages')]) {
    const decoder = () => upstreamProtocols[name].streamDecoder(request);
    const framed = decodeAll(withFrame(decoder()), messages, request);
    expect(framed).toEqual(decodeAll(decoder(), messages, request));
  }
};

test.each(upstreamCases('streams', 'sse'))(
  'learned frames change no event of the stream $name',
  ({ from, input }) => {
    const sse = createSseReader();
    const messages = [...sse.push(Buffer.from(input)), ...sse.end()].map(({ data }) => data);
    assertSame(from, messages);
    // Each message again and again is where a frame would hide what grows.
    assertSame(
      from,
      messages.flatMap((data) => [data, data, data]),
    );
  },
);

const text = fc.oneof(
  { arbitrary: fc.constantFrom(' word', ' and', 'content', 'text', ',', ':'), weight: 4 },
  fc.constantFrom('', '"', '\\', '"}', '"},"finish_reason":null}]}', '\ud83d', '😀 é', '\u0000\n'),
  fc.string({ unit: 'binary', maxLength: 4 }),
);

/** A member of a chat delta. */
const memberOf = (name: string, value: string): [string, unknown] => {
  if (name === 'annotations') return [name, [{ text: value }]];
  if (name !== 'tool_calls') return [name, value];
  return [name, [{ index: 0, id: 'call_1', function: { name: 'look', arguments: value } }]];
};

const names = fc.uniqueArray(
  fc.constantFrom('content', 'content', 'reasoning', 'refusal', 'annotations', 'tool_calls'),
  { minLength: 1, maxLength: 2 },
);

const around = fc.constantFrom(
  ...[{}, { id: ' word' }, { usage: { prompt_tokens: 3, completion_tokens: 4 } }, { x: ['a'] }],
);

/** Messages that differ in their texts only. */
type Shape = (text: string) => object;

const chatShape: fc.Arbitrary<Shape> = fc
  .record({ names, around, fixed: text, end: fc.constantFrom(null, null, 'stop') })
  .map(({ names: [first = '', ...others], around: members, fixed, end }) => (value) => ({
    ...members,
    choices: [
      {
        delta: Object.fromEntries([
          ...others.map((name) => memberOf(name, fixed)),
          memberOf(first, value),
        ]),
        finish_reason: end,
      },
    ],
  }));

const content_block = { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} };
const messagesShape = fc.constantFrom<Shape[]>(
  (value) => ({
    ...{ type: 'content_block_start', index: 0 },
    content_block: { type: 'text', text: value },
  }),
  () => ({ type: 'content_block_start', index: 1, content_block }),
  () => ({ type: 'content_block_stop', index: 0 }),
  (value) => ({
    ...{ type: 'content_block_delta', index: 1 },
    delta: { type: 'input_json_delta', partial_json: value },
  }),
  (value) => ({
    ...{ type: 'content_block_delta', index: 0 },
    delta: { type: 'text_delta', text: value, citation: 'content' },
  }),
);

const escapeAll = (json: string): string =>
  json.replace(/[a-z](?=[a-z]*")/g, (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`);

/** The same JSON as other encoders write it, and JSON that is cut off. */
const spelled = fc.constantFrom<((value: object) => string)[]>(
  ...[JSON.stringify, JSON.stringify, JSON.stringify],
  (value) => JSON.stringify({ ...value, obfuscation: 'xY1' }),
  (value) => JSON.stringify(value, undefined, 1).replaceAll('\n', ''),
  (value) => escapeAll(JSON.stringify(value)),
  (value) => JSON.stringify(value).slice(0, -3),
);

describe.each([
  { name: 'chat' as const, shape: chatShape },
  { name: 'messages' as const, shape: messagesShape },
])('a stream of $name', ({ name, shape }) => {
  test('decodes to the same events with a learned frame, whatever its messages hold', () => {
    const texts = fc.array(text, { minLength: 1, maxLength: 4 });
    const data = fc
      .tuple(shape, spelled, texts)
      .map(([messageOf, spell, values]) => values.map((value) => spell(messageOf(value))));
    fc.assert(
      fc.property(fc.array(data, { maxLength: 8 }), (messages) =>
        assertSame(name, messages.flat()),
      ),
      { numRuns: share(1_000, 5) },
    );
  });
});

test.each([
  { where: 'twice', content: '" word"' },
  { where: 'once, with the same text escaped', content: '"\\u0020word"' },
])('a member that holds the text of a block $where is never read as that text', ({ content }) => {
  const messageOf = (id: string) =>
    `{"id":"${id}","choices":[{"index":0,"delta":{"content":${content}}}]}`;
  assertSame('chat', [' word', ' word', ' other', ' third'].map(messageOf));
});

test.each([
  { kind: 'a block', paddings: [''] },
  { kind: 'a block with random padding', paddings: ['aB3', '', 'word', '0_1xyz', 'q'] },
])('the third and later texts of $kind are read without the decoder', ({ paddings }) => {
  const decoder = upstreamProtocols.chat.streamDecoder(REQUEST);
  let decoded = 0;
  const framed = withFrame({
    ...decoder,
    push: (message) => {
      decoded += 1;
      return decoder.push(message);
    },
  });
  for (const [index, content] of ['one', ' "two"', ' three', ' 😀', ' \\five'].entries()) {
    const chunk = { id: '1', choices: [{ index: 0, delta: { content } }] };
    const padding = paddings.length > 1 ? { obfuscation: paddings[index] } : {};
    expect(framed.push({ data: JSON.stringify({ ...chunk, ...padding }) })).toContainEqual(
      expect.objectContaining({ type: 'block-delta', index: 0, delta: content }),
    );
  }
  expect(decoded).toBe(2);
});

test.each([
  { what: 'quotes', value: '"'.repeat(60_000), pad: `${'"'.repeat(60_000)}x` },
  { what: 'lists', value: [], pad: '' },
])('a stream whose texts become $what takes no longer with a learned frame', ({ value, pad }) => {
  const chunk = (content: unknown) =>
    JSON.stringify({ id: '1', choices: [{ index: 0, delta: { content } }], pad });
  const nested = chunk('HOLE').replace('"HOLE"', '['.repeat(1_000_000) + ']'.repeat(1_000_000));
  const last = typeof value === 'string' ? chunk(value) : nested;
  const decoder = withFrame(upstreamProtocols.chat.streamDecoder(REQUEST));
  const ms = cpuMsOf(() => decodeAll(decoder, [chunk(' a'), chunk(' b'), last]));
  expect(ms).toBeLessThan(500);
});

test('an event that ends where the padding of the events before began is decoded', () => {
  const chunk = '{"choices":[{"index":0,"delta":{"content":" a"}}],"usage":{}';
  const padded = `${chunk},"obfuscation":"xY"}`;
  assertSame('chat', [padded, padded, chunk]);
  assertSame('chat', [padded, padded, `${chunk}]`]);
});
