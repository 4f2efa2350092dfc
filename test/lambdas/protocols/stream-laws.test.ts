import { describe, expect, test } from 'vitest';
import {
  CALLER_PROTOCOLS,
  type CallerProtocolName,
} from '../../../lambdas/protocols/protocol-name.ts';
import { callerProtocols, upstreamProtocols } from '../../../lambdas/protocols/protocols.ts';
import { formatSse } from '../../../lambdas/protocols/streams/sse.ts';
import { FAMILIES } from '../../support/families.ts';
import { checksAll, fc, share } from '../../support/seeds.ts';
import type { Json } from '../../support/sse-text.ts';
import { thirdProtocol } from '../../support/third-protocol.ts';
import {
  assertWellFormed,
  chatWire,
  decode,
  LABEL,
  messagesWire,
  requestOf,
  translate,
} from '../../support/translate.ts';
import { WIRES, type Wire } from '../../support/wires.ts';

const RUNS = { numRuns: share(300) };

/** Text that is nasty on the wire: line ends, SSE field names, quotes, multi-byte characters. */
const nastyText = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 12 }),
  fc.constantFrom('data: [DONE]\n\n', '\r\n', '\u2028', 'event: error', '"}', '𝒳é漢', ''),
);

const jsonObjectText = fc
  .dictionary(fc.string({ maxLength: 4 }), nastyText, { maxKeys: 3 })
  .map((v) => JSON.stringify(v));

/** A string cut into fragments, as tool arguments come. */
const fragments = (text: string, at: number[]): string[] => {
  const points = [...new Set(at.map((point) => point % (text.length + 1)))].toSorted(
    (a, b) => a - b,
  );
  return [...points, text.length].map((end, i) => text.slice(i === 0 ? 0 : points[i - 1], end));
};

const toolCalls = fc.array(
  fc.record({
    name: fc.stringMatching(/^[a-z_]{1,10}$/),
    json: jsonObjectText,
    at: fc.array(fc.nat(40), { maxLength: 3 }),
  }),
  { maxLength: 3 },
);

const answered = fc
  .record({
    texts: fc.array(nastyText, { maxLength: 4 }),
    thoughts: fc.array(nastyText, { maxLength: 2 }),
    calls: toolCalls,
    firstIndex: fc.constantFrom(0, 1, 5),
    usage: fc.constantFrom('own', 'finish', 'every', 'none'),
    done: fc.boolean(),
  })
  .filter(
    ({ texts, thoughts, calls }) =>
      calls.length > 0 || [...texts, ...thoughts].some((t) => t !== ''),
  );

/** A valid answer of a chat upstream, its tool fragments interleaved, in one of the many real spellings. */
const chatAnswer = answered.map(({ texts, thoughts, calls, firstIndex, usage, done }) => {
  const counts = { prompt_tokens: 7, completion_tokens: 3 };
  const every = usage === 'every' ? { usage: counts } : {};
  const delta = (fields: object) => ({ choices: [{ index: 0, delta: fields }], ...every });
  const tool = (i: number, fields: object) =>
    delta({ tool_calls: [{ index: firstIndex + i, ...fields }] });
  const opened = calls.map(({ name }, i) =>
    tool(i, { id: `call_${i}`, function: { name, arguments: '' } }),
  );
  const parts = calls.map(({ json, at }) => fragments(json, at));
  const longest = Math.max(0, ...parts.map((p) => p.length));
  const interleaved = Array.from({ length: longest }, (_, step) =>
    parts.flatMap((p, i) =>
      p[step] === undefined ? [] : [tool(i, { function: { arguments: p[step] } })],
    ),
  ).flat();
  const finish = {
    choices: [{ index: 0, delta: {}, finish_reason: calls.length > 0 ? 'tool_calls' : 'stop' }],
    ...(usage === 'finish' || usage === 'every' ? { usage: counts } : {}),
  };
  const wire = chatWire(
    [
      ...thoughts.map((t) => delta({ reasoning_content: t })),
      ...texts.map((t) => delta({ content: t })),
      ...opened,
      ...interleaved,
      finish,
      ...(usage === 'own' ? [{ choices: [], usage: counts }] : []),
    ],
    done ? undefined : '',
  );
  return { wire, text: texts.join(''), thinking: thoughts.join(''), calls };
});

/** The events of one item: its start, its texts and its end. */
const itemEvents = (
  index: number,
  item: Json,
  name: string,
  texts: string[],
  whole: Json,
): Json[] => {
  const at = { output_index: index, item_id: item.id };
  const isCall = item.type === 'function_call';
  const part = name.startsWith('reasoning') ? 'reasoning_summary_part' : 'content_part';
  const place = isCall ? {} : { content_index: 0, summary_index: 0 };
  return [
    { type: 'response.output_item.added', output_index: index, item },
    ...(isCall ? [] : [{ type: `response.${part}.added`, ...at, ...place }]),
    ...texts.map((delta) => ({ type: `response.${name}.delta`, ...at, ...place, delta })),
    { type: 'response.output_item.done', output_index: index, item: { ...item, ...whole } },
  ];
};

/** The same answers of a responses upstream, one item behind the other. */
const responsesAnswer = answered.map(({ texts, thoughts, calls, usage }) => {
  const said = texts.filter((text) => text !== '');
  const thought = thoughts.filter((text) => text !== '');
  const items = [
    ...(thought.length > 0
      ? [
          {
            item: { type: 'reasoning', summary: [] as Json[] },
            name: 'reasoning_summary_text',
            deltas: thought,
            whole: { summary: [{ type: 'summary_text', text: thought.join('') }] },
          },
        ]
      : []),
    ...(said.length > 0
      ? [
          {
            item: { type: 'message', role: 'assistant', content: [] as Json[] },
            name: 'output_text',
            deltas: said,
            whole: { content: [{ type: 'output_text', text: said.join(''), annotations: [] }] },
          },
        ]
      : []),
    ...calls.map(({ name, json, at }, index) => ({
      item: { type: 'function_call', call_id: `call_${index}`, name, arguments: '' },
      name: 'function_call_arguments',
      deltas: fragments(json, at).filter((text) => text !== ''),
      whole: { arguments: json },
    })),
  ].map((one, index) => ({ ...one, item: { ...one.item, id: `${one.item.type}_${index}` } }));
  const response = { id: 'resp_1', object: 'response', status: 'in_progress', output: [] };
  const counts = { input_tokens: 7, output_tokens: 3 };
  const events = [
    { type: 'response.created', response },
    { type: 'response.in_progress', response },
    ...items.flatMap(({ item, name, deltas, whole }, index) =>
      itemEvents(index, item, name, deltas, whole),
    ),
    {
      type: 'response.completed',
      response: {
        ...response,
        status: 'completed',
        output: items.map(({ item, whole }) => ({ ...item, ...whole })),
        usage: usage === 'none' ? null : counts,
      },
    },
  ];
  const wire = messagesWire(events as { type: string }[]);
  return { wire, text: texts.join(''), thinking: thoughts.join(''), calls };
});

/** The same answers of a gemini upstream, whose calls are whole. */
const geminiAnswer = answered.map(({ texts, thoughts, calls, usage }) => {
  const chunk = (parts: Json[], more: Json = {}) => ({
    candidates: [{ content: { role: 'model', parts }, index: 0, ...more }],
    ...(usage !== 'none' && { usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 3 } }),
  });
  const wire = chatWire(
    [
      ...thoughts.map((text) => chunk([{ text, thought: true }])),
      ...texts.map((text) => chunk([{ text }])),
      ...calls.map(({ name, json }) => chunk([{ functionCall: { name, args: JSON.parse(json) } }])),
      chunk([], { finishReason: 'STOP' }),
    ],
    '',
  );
  return { wire, text: texts.join(''), thinking: thoughts.join(''), calls };
});

/** The same answers of a messages upstream, a block for each part. */
const messagesAnswer = answered.map(({ texts, thoughts, calls, usage }) => {
  const said = texts.filter((text) => text !== '');
  const thought = thoughts.filter((text) => text !== '');
  const blocks = [
    {
      head: { type: 'thinking', thinking: '', signature: '' } as Json,
      deltas: thought.map((text): Json => ({ type: 'thinking_delta', thinking: text })),
    },
    {
      head: { type: 'text', text: '' } as Json,
      deltas: said.map((text): Json => ({ type: 'text_delta', text })),
    },
  ].filter(({ deltas }) => deltas.length > 0);
  const uses = calls.map(({ name, json, at }, index) => ({
    head: { type: 'tool_use', id: `toolu_${index}`, name, input: {} } as Json,
    deltas: fragments(json, at).map(
      (text): Json => ({ type: 'input_json_delta', partial_json: text }),
    ),
  }));
  const wire = messagesWire([
    {
      type: 'message_start',
      message: { ...(usage !== 'none' && { usage: { input_tokens: 7, output_tokens: 1 } }) },
    },
    ...[...blocks, ...uses].flatMap(({ head, deltas }, index) => [
      { type: 'content_block_start', index, content_block: head },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]),
    {
      type: 'message_delta',
      delta: { stop_reason: calls.length > 0 ? 'tool_use' : 'end_turn' },
      ...(usage !== 'none' && { usage: { output_tokens: 3 } }),
    },
    { type: 'message_stop' },
  ]);
  return { wire, text: texts.join(''), thinking: thoughts.join(''), calls };
});

const ANSWERS = {
  chat: chatAnswer,
  messages: messagesAnswer,
  responses: responsesAnswer,
  gemini: geminiAnswer,
};

/** Short enough to end them at each of their bytes. */
const SHORT = Object.fromEntries(
  Object.entries(ANSWERS).map(([from, one]) => [
    from,
    one.filter(({ wire }) => wire.length < 2_000),
  ]),
) as typeof ANSWERS;

/** In `npm test` the three callers read every third byte each: together every end of the same streams. */
const endsOf = (to: CallerProtocolName, length: number): number[] => {
  const isChosen = (end: number) =>
    end % CALLER_PROTOCOLS.length === CALLER_PROTOCOLS.indexOf(to) || end === length - 1;
  return Array.from({ length }, (_, end) => end).filter((end) => checksAll || isChosen(end));
};

const wildPart = fc.record(
  {
    text: fc.oneof(nastyText, fc.jsonValue()),
    thought: fc.constantFrom(true, false, null),
    thoughtSignature: fc.oneof(nastyText, fc.jsonValue()),
    functionCall: fc.record(
      {
        name: fc.constantFrom('f', '', null),
        args: fc.oneof(fc.constantFrom({ a: 1 }, null), fc.jsonValue()),
        id: fc.constantFrom('a', '', null),
      },
      { requiredKeys: [] },
    ),
    inlineData: fc.jsonValue(),
  },
  { requiredKeys: [] },
);
const wildGeminiChunk = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.record(
    {
      candidates: fc.array(
        fc.record(
          {
            content: fc.record({ parts: fc.array(wildPart, { maxLength: 3 }) }),
            finishReason: fc.oneof(
              fc.constantFrom('STOP', 'MAX_TOKENS', 'SAFETY', 'OTHER', null),
              fc.jsonValue(),
            ),
          },
          { requiredKeys: [] },
        ),
        { maxLength: 2 },
      ),
      promptFeedback: fc.constantFrom({ blockReason: 'SAFETY' }, {}, null),
      usageMetadata: fc.oneof(fc.constant({ promptTokenCount: 3 }), fc.jsonValue()),
      error: fc.option(fc.jsonValue(), { freq: 8 }),
    },
    { requiredKeys: [] },
  ),
);

const wildItem = fc.record(
  {
    type: fc.constantFrom('message', 'reasoning', 'function_call', 'custom_tool_call', 'new_kind'),
    id: fc.constantFrom('a', 'b', '', null),
    call_id: fc.constantFrom('c', '', null),
    name: fc.constantFrom('f', '', null),
    arguments: fc.constantFrom('{}', '{"a":1}', '{'),
    content: fc.oneof(fc.constant([{ type: 'output_text', text: 'Hi' }]), fc.jsonValue()),
    summary: fc.constantFrom([], [{ type: 'summary_text', text: 'Hm' }]),
    encrypted_content: nastyText,
  },
  { requiredKeys: ['type'] },
);
const wildResponsesEvent = fc.record(
  {
    type: fc.constantFrom(
      ...['response.created', 'response.in_progress', 'response.output_item.added'],
      ...['response.output_item.done', 'response.content_part.added', 'response.output_text.delta'],
      ...['response.refusal.delta', 'response.reasoning_summary_text.delta'],
      ...['response.function_call_arguments.delta', 'response.completed', 'response.incomplete'],
      ...['response.failed', 'error', 'keepalive', 'response.new_event'],
    ),
    output_index: fc.oneof(fc.nat(2), fc.jsonValue()),
    content_index: fc.nat(1),
    item_id: fc.constantFrom('a', 'b'),
    delta: fc.oneof(nastyText, fc.jsonValue()),
    item: wildItem,
    response: fc.record(
      {
        status: fc.constantFrom('completed', 'incomplete', 'failed', 'in_progress'),
        output: fc.array(wildItem, { maxLength: 2 }),
        usage: fc.constantFrom(null, { input_tokens: 1, output_tokens: 1 }),
      },
      { requiredKeys: ['status'] },
    ),
  },
  { requiredKeys: ['type'] },
);

/** Chunks from nowhere: every field may be missing, of a wrong type, or out of place. */
const anyJson = fc.jsonValue({ maxDepth: 2 });
const wildChatChunk = fc.oneof(
  anyJson,
  fc.record(
    {
      error: fc.option(anyJson, { freq: 8 }),
      usage: anyJson,
      choices: fc.array(
        fc.record(
          {
            index: fc.oneof(fc.nat(2), anyJson),
            finish_reason: fc.oneof(
              fc.constantFrom(null, 'stop', 'tool_calls', 'length', ''),
              anyJson,
            ),
            delta: fc.record(
              {
                role: anyJson,
                content: fc.oneof(nastyText, anyJson),
                reasoning_content: fc.oneof(nastyText, anyJson),
                tool_calls: fc.array(
                  fc.record(
                    {
                      index: fc.oneof(fc.nat(2), anyJson),
                      id: fc.oneof(fc.constantFrom('a', 'b', '', null), anyJson),
                      function: fc.record(
                        {
                          name: fc.oneof(fc.constantFrom('f', 'g', '', null), anyJson),
                          arguments: fc.oneof(
                            fc.constantFrom('{', '}', '{}', '{"a":1}', ''),
                            anyJson,
                          ),
                        },
                        { requiredKeys: [] },
                      ),
                    },
                    { requiredKeys: [] },
                  ),
                  { maxLength: 2 },
                ),
              },
              { requiredKeys: [] },
            ),
          },
          { requiredKeys: [] },
        ),
        { maxLength: 2 },
      ),
    },
    { requiredKeys: [] },
  ),
);

const wildBlock = fc.record(
  {
    type: fc.constantFrom(
      'text',
      'thinking',
      'tool_use',
      'redacted_thinking',
      'server_tool_use',
      'new_kind',
    ),
    id: fc.constantFrom('t1', 't2', 'functions.x:0', ''),
    name: fc.constantFrom('f', 'g', ''),
    text: nastyText,
    input: fc.constantFrom({}, { a: 1 }, null),
  },
  { requiredKeys: ['type'] },
);
const wildDelta = fc.record(
  {
    type: fc.constantFrom(
      'text_delta',
      'thinking_delta',
      'input_json_delta',
      'signature_delta',
      'new_delta',
    ),
    text: nastyText,
    thinking: nastyText,
    partial_json: fc.constantFrom('{', '}', '{"a":1}', '', ' '),
    signature: nastyText,
  },
  { requiredKeys: ['type'] },
);
const wildMessagesEvent = fc.record(
  {
    type: fc.constantFrom(
      'message_start',
      'content_block_start',
      'content_block_delta',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
      'ping',
      'error',
      'new_event',
    ),
    index: fc.oneof(fc.nat(3), anyJson),
    message: fc.oneof(
      fc.record({ usage: fc.record({ input_tokens: fc.nat(9), output_tokens: fc.nat(9) }) }),
      anyJson,
    ),
    content_block: wildBlock,
    delta: fc.oneof(
      wildDelta,
      fc.record({ stop_reason: fc.constantFrom('end_turn', 'tool_use', 'max_tokens', null) }),
    ),
    usage: fc.oneof(fc.record({ output_tokens: fc.nat(9) }), anyJson),
  },
  { requiredKeys: ['type'] },
);

const BEGUN = ['response.created', 'response.in_progress'].map((type) => ({
  ...{ type, response: { id: 'r', output: [] } },
}));

/** Streams from nowhere, by the protocol of their upstream. */
const WILD: Record<Wire, fc.Arbitrary<string>> = {
  chat: fc
    .tuple(fc.array(wildChatChunk, { maxLength: 8 }), fc.boolean())
    .map(([chunks, done]) => chatWire(chunks as object[], done ? undefined : '')),
  messages: fc.array(wildMessagesEvent, { maxLength: 10 }).map(messagesWire),
  responses: fc
    .tuple(fc.array(wildResponsesEvent, { maxLength: 10 }), fc.boolean())
    .map(([events, isBegun]) =>
      messagesWire(
        [...(isBegun ? BEGUN : []), ...events].map((one, sequence_number) => ({
          ...one,
          sequence_number,
        })),
      ),
    ),
  gemini: fc
    .array(wildGeminiChunk, { maxLength: 8 })
    .map((chunks) => chatWire(chunks as object[], '')),
};

describe.each(CALLER_PROTOCOLS)('a stream for a caller of %s', (to) => {
  test.each(WIRES)(
    'a stream of every valid %s response is well-formed and complete, wherever network chunks split it',
    async (from) => {
      await fc.assert(
        fc.asyncProperty(
          ANSWERS[from],
          fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 4 }),
          async (answer, sizes) => {
            const whole = await translate(from, to, answer.wire);
            expect(await translate(from, to, answer.wire, { sizes })).toBe(whole);
            const { isError, ...read } = assertWellFormed(to, whole, from);
            expect(isError).toBe(false);
            if ('blocks' in read) {
              const prose = (type: string) =>
                read.blocks
                  .filter((b) => b.type === type)
                  .map((b) => b.text)
                  .join('');
              const calls = read.blocks.filter((b) => b.type === 'tool_use');
              expect(prose('text')).toBe(answer.text);
              expect(prose('thinking')).toBe(answer.thinking);
              expect(calls.map((b) => [b.name, JSON.parse(b.json || '{}')])).toEqual(
                answer.calls.map(({ name, json }) => [name, JSON.parse(json)]),
              );
            } else {
              expect(read.text).toBe(answer.text);
              expect(read.reasoning).toBe(answer.thinking);
              expect(read.tools.map((tool) => [tool.name, tool.arguments])).toEqual(
                answer.calls.map(({ name, json }) => [name, json]),
              );
            }
          },
        ),
        RUNS,
      );
    },
  );

  test.each(WIRES)('a stream is well-formed for any input of a %s upstream', async (from) => {
    await fc.assert(
      fc.asyncProperty(WILD[from], async (wire) => {
        assertWellFormed(to, await translate(from, to, wire), from);
      }),
      RUNS,
    );
  });

  test.each(WIRES)(
    'a stream of a %s upstream that ends at any byte is well-formed, and a response only if it was whole',
    async (from) => {
      await fc.assert(
        fc.asyncProperty(SHORT[from], async ({ wire }) => {
          const bytes = Buffer.from(wire);
          const whole = await translate(from, to, bytes);
          let wholes = 0;
          for (const end of endsOf(to, bytes.length)) {
            const told = await translate(from, to, bytes.subarray(0, end));
            const { isError } = assertWellFormed(to, told, from);
            if (isError) expect(wholes, `byte ${end}`).toBe(0);
            else wholes += 1;
            // What was told before the end is not told in another way.
            if (!isError && end === bytes.length - 1) expect(told).toBe(whole);
          }
        }),
        { numRuns: share(3) },
      );
    },
  );

  test('a thinking_delta in a redacted_thinking block ends the stream with an error event', async () => {
    const text = await translate(
      'messages',
      to,
      messagesWire([
        { type: 'content_block_start', content_block: { type: 'redacted_thinking', data: 'x' } },
        { type: 'content_block_delta', delta: { type: 'thinking_delta', thinking: 'secret' } },
      ]),
    );
    assertWellFormed(to, text);
    expect(text).not.toContain('secret');
  });

  test('a stream is well-formed for any input of an upstream of a third protocol', async () => {
    const chunk = fc.record({ text: fc.oneof(nastyText, anyJson), end: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(chunk, anyJson), { maxLength: 8 }), async (chunks) => {
        const wire = chatWire(chunks as object[], '');
        assertWellFormed(to, await translate(thirdProtocol, to, wire));
      }),
      RUNS,
    );
  });
});

describe.each(FAMILIES)('%s', (name) => {
  const { streamEncoder } = callerProtocols[name];

  test('a protocol decodes the events that it encoded', async () => {
    await fc.assert(
      fc.asyncProperty(chatAnswer, async ({ wire }) => {
        const request = requestOf(
          name,
          name === 'chat' ? { stream_options: { include_usage: true } } : {},
        );
        const first = await decode(upstreamProtocols.chat, wire, request);
        fc.pre(first.events.some((event) => event.type === 'finish' && event.usage !== undefined));
        const encode = (events: typeof first.events) => {
          const encoder = streamEncoder(request, LABEL);
          return events.flatMap(encoder.push).map(formatSse).join('');
        };
        // Once through this wire, blocks stand in its order; from there on nothing may change.
        const second = await decode(upstreamProtocols[name], encode(first.events), request);
        const third = await decode(upstreamProtocols[name], encode(second.events), request);
        expect(third).toEqual(second);
      }),
      RUNS,
    );
  });
});
