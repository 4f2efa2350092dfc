import { expect, test } from 'vitest';
import type { GenerationEvent } from '../../../lambdas/protocols/generation.ts';
import { upstreamProtocols } from '../../../lambdas/protocols/protocols.ts';
import { chatWire, decode, LABEL, requestOf, wholeFor } from '../../support/translate.ts';

/**
 * The shapes of responses that other projects recorded: which members, which odd values. The texts are new;
 * `changed` is all that a caller of the same protocol reads differently.
 */
type Json = Record<string, unknown>;
type Shape = { source: string; from: 'chat' | 'messages'; answer: Json; changed: Json };

const SAFE = { filtered: false, severity: 'safe' };
const RESULTS = { hate: SAFE, self_harm: SAFE, sexual: SAFE, violence: SAFE };
const NAMED = { id: 'chatcmpl-Label', model: LABEL.model };
const completion = (fields: Json): Json => ({
  id: 'theirs',
  created: 1,
  model: 'theirs',
  object: 'chat.completion',
  ...fields,
});

const SPOKEN = { role: 'assistant', content: '', refusal: null, reasoning_content: 'I look.' };
const CALL = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"a":"b"}' } };
const XAI_USAGE = {
  prompt_tokens: 30,
  prompt_tokens_details: { text_tokens: 30, audio_tokens: 0, image_tokens: 0, cached_tokens: 20 },
  completion_tokens_details: {
    reasoning_tokens: 25,
    audio_tokens: 0,
    accepted_prediction_tokens: 0,
    rejected_prediction_tokens: 0,
  },
  num_sources_used: 0,
  total_tokens: 60,
};

const VLLM_MESSAGE = { role: 'assistant', content: 'Yes.', refusal: null, annotations: null };
const VLLM_USAGE = {
  prompt_tokens: 8,
  total_tokens: 10,
  completion_tokens: 2,
  prompt_tokens_details: null,
};

const message = (fields: Json): Json => ({
  id: 'msg_theirs',
  type: 'message',
  role: 'assistant',
  model: 'theirs',
  stop_sequence: null,
  ...fields,
});
const AI_SDK = 'vercel/ai packages/anthropic/src/__fixtures__';
const CACHE = {
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
};
const DONE = { type: 'text', text: 'It is done.' };
const STEP = { ...CACHE, model: 'theirs', input_tokens: 4, output_tokens: 0 };
const SEARCHES = { ...CACHE, input_tokens: 9, output_tokens: 7, service_tier: 'standard' };

const SHAPES: Shape[] = [
  {
    source: 'vercel/ai packages/openai-compatible/src/chat/__fixtures__/xai-tool-call.json',
    from: 'chat',
    answer: completion({
      choices: [
        { index: 0, message: { ...SPOKEN, tool_calls: [CALL] }, finish_reason: 'tool_calls' },
      ],
      usage: { ...XAI_USAGE, completion_tokens: 5, cost_in_usd_ticks: 1_777 },
      system_fingerprint: 'fp_1',
    }),
    changed: {
      choices: [
        {
          index: 0,
          message: { ...SPOKEN, tool_calls: [CALL] },
          logprobs: null,
          finish_reason: 'tool_calls',
        },
      ],
      // Reasoning is counted apart from the completion there; costs are the operator's.
      usage: { ...XAI_USAGE, completion_tokens: 30 },
    },
  },
  {
    source: 'enoch-sit/tool-chatbot-boilerplate services/mimicAzure/data/eduhk_non_stream.md',
    from: 'chat',
    answer: completion({
      choices: [
        {
          content_filter_results: RESULTS,
          finish_reason: 'stop',
          index: 0,
          logprobs: null,
          message: { annotations: [], content: 'Good day.', refusal: null, role: 'assistant' },
        },
      ],
      prompt_filter_results: [
        {
          prompt_index: 0,
          content_filter_results: { ...RESULTS, jailbreak: { filtered: false, detected: false } },
        },
      ],
      usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
    }),
    changed: {},
  },
  {
    source: 'kaito-project/kaito website/docs/gateway-api-inference-extension.md (vLLM)',
    from: 'chat',
    answer: completion({
      choices: [
        {
          finish_reason: 'length',
          index: 0,
          logprobs: null,
          message: {
            ...VLLM_MESSAGE,
            audio: null,
            function_call: null,
            reasoning_content: null,
            tool_calls: [],
          },
          stop_reason: null,
        },
      ],
      kv_transfer_params: null,
      prompt_logprobs: null,
      service_tier: null,
      system_fingerprint: null,
      usage: VLLM_USAGE,
    }),
    // Some clients read an empty list as calls.
    changed: {
      choices: [
        {
          finish_reason: 'length',
          index: 0,
          logprobs: null,
          message: { ...VLLM_MESSAGE, audio: null, reasoning_content: null },
          stop_reason: null,
        },
      ],
    },
  },
  {
    source: `${AI_SDK}/anthropic-programmatic-tool-calling.1.json`,
    from: 'messages',
    answer: message({
      content: [
        DONE,
        {
          type: 'server_tool_use',
          id: 'srvtoolu_1',
          name: 'code_execution',
          input: { code: 'roll()' },
          caller: { type: 'direct' },
        },
        {
          type: 'tool_use',
          id: 'toolu_1',
          name: 'roll',
          input: { by: 'me' },
          caller: { type: 'code_execution_20250825', tool_id: 'srvtoolu_1' },
        },
      ],
      container: { id: 'container_1', expires_at: '2026-11-22T05:43:51.602056Z' },
      stop_reason: 'tool_use',
      usage: { ...SEARCHES, server_tool_use: { web_search_requests: 0 } },
    }),
    changed: {},
  },
  {
    source: `${AI_SDK}/anthropic-clear-tool-uses.1.json`,
    from: 'messages',
    answer: message({
      content: [DONE],
      stop_reason: 'end_turn',
      usage: { ...SEARCHES, inference_geo: 'not_available' },
      context_management: { applied_edits: [] },
    }),
    changed: {},
  },
  {
    source: `${AI_SDK}/anthropic-fallback.json`,
    from: 'messages',
    answer: message({
      content: [{ type: 'fallback', from: { model: 'one' }, to: { model: 'another' } }, DONE],
      stop_reason: 'end_turn',
      stop_details: null,
      usage: {
        ...CACHE,
        input_tokens: 9,
        output_tokens: 7,
        iterations: [
          { type: 'message', ...STEP },
          { type: 'fallback_message', ...STEP },
        ],
      },
    }),
    changed: {},
  },
];

const asked = (from: Shape['from']) => requestOf(from, { stream: false });

const again = async (from: Shape['from'], events: GenerationEvent[]): Promise<Json> =>
  JSON.parse(await wholeFor(from, events, asked(from)));

test.each(SHAPES)(
  'a recorded response reaches a caller of its protocol with every member: $source',
  async ({ from, answer, changed }) => {
    const events = upstreamProtocols[from].decodeResponse(answer, asked(from));
    const read = await again(from, events);
    if (from === 'chat') return expect(read).toEqual({ ...answer, ...NAMED, ...changed });
    // The vendor's types require more members, which are null.
    const named = { id: 'msg_Label', model: LABEL.model };
    return expect(read).toMatchObject({ ...answer, ...named, ...changed });
  },
);

test('a recorded stream of Azure keeps its filter results: dto-btn/ssc-assistant simple_chat.ts', async () => {
  const filtered = { prompt_index: 0, content_filter_results: RESULTS };
  const chunk = (delta: Json, results: Json, finish: string | null = null) => ({
    choices: [
      { content_filter_results: results, delta, finish_reason: finish, index: 0, logprobs: null },
    ],
    system_fingerprint: 'fp_1',
  });
  const wire = chatWire([
    { choices: [], created: 0, id: '', model: '', object: '', prompt_filter_results: [filtered] },
    chunk({ content: '', refusal: null, role: 'assistant' }, {}),
    chunk({ content: 'Good' }, RESULTS),
    chunk({ content: ' day' }, RESULTS),
    chunk({}, {}, 'stop'),
  ]);
  const { events } = await decode(upstreamProtocols.chat, wire, asked('chat'));
  expect(await again('chat', events)).toMatchObject({
    ...NAMED,
    prompt_filter_results: [filtered],
    system_fingerprint: 'fp_1',
    choices: [{ message: { content: 'Good day' }, content_filter_results: RESULTS }],
  });
});
