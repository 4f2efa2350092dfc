import { describe, expect, test } from 'vitest';
import { CALLERS } from '../../support/golden.ts';
import { fc } from '../../support/seeds.ts';
import { type Json, parseJson, readSse } from '../../support/sse-text.ts';
import { chatWire, messagesWire, requestOf, translate } from '../../support/translate.ts';
import { WIRES, type Wire } from '../../support/wires.ts';

/** What an upstream counted. Each family states it in its own way; `input` leaves out the cache. */
type Counts = { input: number; read: number; written: number; output: number; thinking: number };

const counts = fc
  .record({
    input: fc.nat(900),
    read: fc.nat(900),
    written: fc.nat(900),
    output: fc.integer({ min: 1, max: 900 }),
    thinking: fc.nat(900),
  })
  // A prompt of no tokens is an upstream that did not count; thinking is a part of the output.
  .filter(({ input, read, written }) => input + read + written > 0)
  .map((all): Counts => ({ ...all, thinking: Math.min(all.thinking, all.output) }));

const asChat = ({ input, read, written, output, thinking }: Counts) => ({
  prompt_tokens: input + read + written,
  completion_tokens: output,
  total_tokens: input + read + written + output,
  prompt_tokens_details: { cached_tokens: read, cache_write_tokens: written },
  completion_tokens_details: { reasoning_tokens: thinking },
});

const asMessages = ({ input, read, written, output, thinking }: Counts) => ({
  input_tokens: input,
  cache_read_input_tokens: read,
  cache_creation_input_tokens: written,
  output_tokens: output,
  output_tokens_details: { thinking_tokens: thinking },
});

type Cached = { cached_tokens: number; cache_write_tokens: number };

/** The places in which chat upstreams state their usage. */
const chatPlaces: Record<string, (usage: Json) => object[]> = {
  'on a chunk of its own': (usage) => [said(), finished(), { choices: [], usage }],
  'on the finish': (usage) => [said(), { ...finished(), usage }],
  'before the finish': (usage) => [
    { ...said(), usage },
    { ...finished(), usage: null },
  ],
  'on every chunk, and growing': (usage) => [
    { ...said(), usage: { prompt_tokens: 1, completion_tokens: 1 } },
    { ...finished(), usage },
  ],
  'on the finish, without what was cached of the prompt': (usage) => {
    const { cached_tokens: read, cache_write_tokens: written } =
      usage.prompt_tokens_details as Cached;
    const input = Number(usage.prompt_tokens) - read - written;
    const isClear = input < (read + written) / 2;
    return [
      said(),
      { ...finished(), usage: { ...usage, ...(isClear && { prompt_tokens: input }) } },
    ];
  },
  'in the choice': (usage) => [said(), finished({ usage })],
  'under a name of their own': (usage) => [said(), { ...finished(), x_groq: { usage } }],
};

const said = () => ({ choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: null }] });
const finished = (more: object = {}) => ({
  choices: [{ index: 0, delta: {}, finish_reason: 'stop', ...more }],
});

type Event = { type: string } & Json;

const withoutZeros = (of: object): object =>
  Object.fromEntries(
    Object.entries(of).flatMap(([name, value]): [string, unknown][] => {
      if (value === 0) return [];
      if (typeof value !== 'object') return [[name, value]];
      const inner = withoutZeros(value as object);
      return Object.keys(inner).length > 0 ? [[name, inner]] : [];
    }),
  );

const mapValues = <From, To>(of: Record<string, From>, map: (one: From) => To) =>
  Object.fromEntries(Object.entries(of).map(([name, one]) => [name, map(one)]));

/** The places in which messages upstreams do. */
const messagesPlaces: Record<string, (usage: Json) => Event[]> = {
  'at the start, and what was written at the end': ({
    output_tokens,
    output_tokens_details,
    ...usage
  }) => message({ ...usage, output_tokens: 1 }, { output_tokens, output_tokens_details }),
  'at the end': (usage) => message({ input_tokens: 0, output_tokens: 0 }, usage),
  'in both places': (usage) => message({ ...usage, output_tokens: 1 }, usage),
  'at the start in all, and at the end what was cached of it': (usage) => {
    const { input_tokens, output_tokens, output_tokens_details, ...cached } = usage;
    const whole = [input_tokens, ...Object.values(cached)].reduce<number>(
      (sum, count) => sum + Number(count),
      0,
    );
    return message(
      { input_tokens: whole, output_tokens: 0 },
      { ...cached, output_tokens, output_tokens_details },
    );
  },
  'at the start, with zeros for the prompt at the end': (usage) => {
    const { output_tokens, output_tokens_details } = usage;
    const none = asMessages({ input: 0, read: 0, written: 0, output: 0, thinking: 0 });
    const written = { ...none, output_tokens, output_tokens_details };
    return message({ ...usage, output_tokens: 1 }, written);
  },
};

const message = (first: Json, last: Json): Event[] => [
  { type: 'message_start', message: { id: 'm', usage: first } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: last },
  { type: 'message_stop' },
];

/** The last usage that the caller of a stream reads. */
const usageIn = (text: string): unknown =>
  readSse(text)
    .filter(({ data }) => data !== '[DONE]')
    .map(({ data }) => parseJson(data))
    .map(({ usage, response }) => usage ?? (response as Json | undefined)?.usage)
    .findLast((usage) => usage !== undefined && usage !== null);

/** A responses upstream states it where it ends the response. */
const responsesWire = (usage: Json): string => {
  const part = { type: 'output_text', text: 'Hi', annotations: [] };
  const item = { type: 'message', id: 'msg_1', role: 'assistant', content: [part] };
  const response = { id: 'r', object: 'response', status: 'in_progress', output: [] };
  const ended = { ...response, status: 'completed', output: [item], usage };
  return messagesWire([
    { type: 'response.created', response },
    { type: 'response.output_item.added', output_index: 0, item: { ...item, content: [] } },
    { type: 'response.content_part.added', output_index: 0, content_index: 0, item_id: 'msg_1' },
    {
      ...{ type: 'response.output_text.delta', output_index: 0, content_index: 0 },
      ...{ item_id: 'msg_1', delta: 'Hi' },
    },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: ended },
  ]);
};

const asResponses = ({ input, read, written, output, thinking }: Counts) => ({
  input_tokens: input + read + written,
  input_tokens_details: { cached_tokens: read, cache_write_tokens: written },
  output_tokens: output,
  output_tokens_details: { reasoning_tokens: thinking },
  total_tokens: input + read + written + output,
});

const REQUEST = {
  chat: requestOf('chat', { stream_options: { include_usage: true } }),
  messages: requestOf('messages'),
  responses: requestOf('responses'),
};
const EXPECTED = { chat: asChat, messages: asMessages, responses: asResponses };

const geminiWire = ({ input, read, written, output, thinking }: Counts): string => {
  const candidate = { content: { role: 'model', parts: [{ text: 'Hi' }] }, finishReason: 'STOP' };
  const usageMetadata = {
    promptTokenCount: input + read + written,
    cachedContentTokenCount: read,
    candidatesTokenCount: output - thinking,
    thoughtsTokenCount: thinking,
  };
  return chatWire([{ candidates: [candidate], usageMetadata }], '');
};

/** The streams of each protocol, by the place of their counts. */
const STREAMS: Record<Wire, Record<string, (all: Counts) => string>> = {
  chat: mapValues(chatPlaces, (place) => (all) => chatWire(place(asChat(all)))),
  messages: mapValues(messagesPlaces, (place) => (all) => messagesWire(place(asMessages(all)))),
  responses: { 'at the end': (all) => responsesWire(asResponses(all)) },
  gemini: { 'at the end': geminiWire },
};
const CASES = WIRES.flatMap((wire) =>
  Object.entries(STREAMS[wire]).map(([place, write]) => [wire, place, write] as const),
);

describe.each(CALLERS)('a caller of %s reads what the upstream counted', (to) => {
  test.each(CASES)('the counts of a %s upstream %s reach the caller', async (wire, _, write) => {
    await fc.assert(
      fc.asyncProperty(counts, async (drawn) => {
        // Gemini states no tokens that were written to a cache, and no count of nothing.
        const isGemini = wire === 'gemini';
        const all = isGemini ? { ...drawn, written: 0, input: drawn.input + 1 } : drawn;
        const told = await translate(wire, to, write(all), { request: REQUEST[to] });
        const expected = EXPECTED[to](all);
        expect(usageIn(told)).toMatchObject(isGemini ? withoutZeros(expected) : expected);
      }),
    );
  });
});
