import { describe, expect, test } from 'vitest';
import { covers, differencesIn } from '../../support/member-paths.ts';
import { readSse } from '../../support/sse-text.ts';
import { assertWellFormed, chatWire, messagesWire, translate } from '../../support/translate.ts';

/**
 * The shapes of streams that other projects recorded: which events in which order, with which members. The texts
 * are new; `changed` is all that a caller of the same protocol reads differently, next to the names of a response.
 */
type Json = Record<string, unknown>;
type Event = { type: string } & Json;
type Stream = {
  source: string;
  from: 'chat' | 'messages';
  wire: Json[];
  changed: string[];
  /** What every caller reads. */
  content: string[];
};

const start = (usage: Json, fields: Json = {}): Event => ({
  type: 'message_start',
  message: {
    id: 'msg_theirs',
    type: 'message',
    role: 'assistant',
    model: 'theirs',
    content: [],
    stop_reason: null,
    ...fields,
    usage,
  },
});
const block = (index: number, content_block: Json, ...deltas: Json[]): Event[] => [
  { type: 'content_block_start', index, content_block },
  ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
  { type: 'content_block_stop', index },
];
const text = (index: number, ...parts: string[]): Event[] =>
  block(
    index,
    { type: 'text', text: '' },
    ...parts.map((part) => ({ type: 'text_delta', text: part })),
  );
const thinking = (index: number, thought: string, signature: string): Event[] =>
  block(
    index,
    { type: 'thinking', thinking: '', signature: '' },
    { type: 'thinking_delta', thinking: thought },
    { type: 'signature_delta', signature },
  );
const input = (...parts: string[]): Json[] =>
  parts.map((partial_json) => ({ type: 'input_json_delta', partial_json }));
const end = (delta: Json, usage: Json, fields: Json = {}): Event[] => [
  { type: 'message_delta', delta, usage, ...fields },
  { type: 'message_stop' },
];

const CACHE = {
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
};
const TAGGED = '[content_block_delta].delta[signature_delta].signature';
const PYTHON = 'anthropics/anthropic-sdk-python tests/lib/streaming/fixtures';
const CASSETTES = 'simonw/llm-anthropic tests/cassettes/test_anthropic';

const chunk = (delta: Json, finish: string | null = null, fields: Json = {}): Json => ({
  id: 'theirs',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'theirs',
  system_fingerprint: 'fp_1',
  choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
  ...fields,
});

const STREAMS: Stream[] = [
  {
    source:
      'vercel/ai packages/anthropic/src/__fixtures__/anthropic-fallback-mid-output.chunks.txt',
    from: 'messages',
    wire: [
      start({ input_tokens: 10, output_tokens: 0 }),
      ...thinking(0, 'One thinks.', 'first'),
      ...block(1, { type: 'fallback', from: { model: 'one' }, to: { model: 'another' } }),
      ...thinking(2, 'Another thinks.', 'second'),
      ...block(
        3,
        { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} },
        ...input('{"q":"x"}'),
      ),
      ...end(
        { stop_reason: 'tool_use' },
        {
          output_tokens: 70,
          iterations: [
            { type: 'message', model: 'one', input_tokens: 10, output_tokens: 40 },
            { type: 'fallback_message', model: 'another', input_tokens: 12, output_tokens: 30 },
          ],
        },
      ),
    ],
    changed: [TAGGED],
    content: ['One thinks.', 'Another thinks.', 'look'],
  },
  {
    source: 'vercel/ai packages/anthropic/src/__fixtures__/anthropic-clear-thinking.1.chunks.txt',
    from: 'messages',
    wire: [
      start({ ...CACHE, input_tokens: 69, output_tokens: 2, service_tier: 'standard' }),
      ...thinking(0, 'It was 9.', 'signed'),
      { type: 'ping' },
      ...text(1, 'Nine', ' by three.'),
      ...end(
        { stop_reason: 'end_turn', stop_sequence: null },
        { cache_read_input_tokens: 0, input_tokens: 69, output_tokens: 53 },
        { context_management: { applied_edits: [] } },
      ),
    ],
    changed: [TAGGED],
    content: ['It was 9.', 'Nine', ' by three.'],
  },
  {
    source: `${PYTHON}/container_response.txt`,
    from: 'messages',
    wire: [
      start({ input_tokens: 11, output_tokens: 1 }, { container: null, stop_sequence: null }),
      ...text(0, 'It runs.'),
      ...end(
        {
          container: { id: 'container_1', expires_at: '2026-11-22T16:16:14.426901Z' },
          stop_reason: 'end_turn',
          stop_sequence: null,
        },
        { output_tokens: 6 },
      ),
    ],
    changed: ['[message_delta].delta.container.id'],
    content: ['It runs.'],
  },
  {
    source: `${PYTHON}/fallback_credit_response.txt`,
    from: 'messages',
    wire: [
      start({ input_tokens: 25, output_tokens: 1 }, { stop_sequence: null }),
      ...text(0, 'Good day.'),
      ...end(
        { stop_reason: 'end_turn', stop_sequence: null },
        { output_tokens: 8, fallback_credit: { status: { type: 'redeemed' } } },
      ),
    ],
    changed: [],
    content: ['Good day.'],
  },
  {
    source: `${CASSETTES}/test_mcp_server_side_tool.yaml`,
    from: 'messages',
    wire: [
      start(
        { ...CACHE, input_tokens: 852, output_tokens: 67, inference_geo: 'global' },
        { stop_sequence: null, stop_details: null },
      ),
      ...block(
        0,
        { type: 'mcp_tool_use', id: 'mcptoolu_1', name: 'read', input: {}, server_name: 'wiki' },
        ...input('{"page"', ':"one"}'),
      ),
      { type: 'ping' },
      ...block(1, {
        type: 'mcp_tool_result',
        tool_use_id: 'mcptoolu_1',
        is_error: false,
        content: [{ type: 'text', text: 'A page.' }],
      }),
      ...text(2, 'It has', ' one page.'),
      ...end(
        { stop_reason: 'end_turn', stop_sequence: null, stop_details: null },
        {
          cache_creation_input_tokens: 0,
          input_tokens: 4007,
          output_tokens: 245,
          server_tool_use: { web_search_requests: 0, web_fetch_requests: 0 },
        },
      ),
    ],
    changed: [],
    content: ['It has', ' one page.'],
  },
  {
    source: 'CaiZongyuan/agentscope-nextjs-ai-demo backend/docs/example-completions.md (DeepSeek)',
    from: 'chat',
    wire: [
      chunk({ role: 'assistant', reasoning_content: '' }),
      chunk({ reasoning_content: 'Well' }),
      chunk({ reasoning_content: ', now.' }),
      chunk({ content: 'Good' }),
      chunk({ content: ' day.' }),
      chunk({ content: '' }, 'stop', {
        usage: {
          prompt_tokens: 6,
          completion_tokens: 1_552,
          total_tokens: 1_558,
          prompt_tokens_details: { cached_tokens: 0 },
          completion_tokens_details: { reasoning_tokens: 199 },
          prompt_cache_hit_tokens: 0,
          prompt_cache_miss_tokens: 6,
        },
      }),
    ],
    changed: [],
    content: ['Well', ', now.', 'Good', ' day.'],
  },
];

const NAMES = [
  ...['id', 'created', 'model'],
  ...['id', 'model'].map((name) => `[message_start].message[message].${name}`),
  // No event of the response itself.
  '[ping]',
];

const wireOf = ({ from, wire }: Stream): string =>
  from === 'chat' ? chatWire(wire) : messagesWire(wire as Event[]);

describe.each(STREAMS)('the stream of $source', (stream) => {
  const { source, from, wire, changed, content } = stream;

  test(`a recorded stream reaches a caller of its protocol with every member: ${source}`, async () => {
    const read = readSse(await translate(from, from, wireOf(stream)))
      .filter(({ data }) => data !== '[DONE]')
      .map(({ data }) => JSON.parse(data));
    const different = differencesIn(wire, read).filter(
      (path) => !NAMES.some((name) => covers(name, path)),
    );
    expect(different).toEqual(changed);
  });

  test.each((['chat', 'messages', 'responses'] as const).filter((to) => to !== from))(
    `a recorded stream has its content for a caller of %s: ${source}`,
    async (to) => {
      const read = await translate(from, to, wireOf(stream));
      assertWellFormed(to, read);
      for (const part of content) expect(read).toContain(part);
    },
  );
});
