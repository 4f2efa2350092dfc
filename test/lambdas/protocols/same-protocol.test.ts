import { describe, expect, test } from 'vitest';
import type { GenerationEvent } from '../../../lambdas/protocols/generation.ts';
import { upstreamProtocols } from '../../../lambdas/protocols/protocols.ts';
import {
  createOriginTagger,
  stripForeignThinking,
} from '../../../lambdas/protocols/thinking/origin.ts';
import { parseJson, readSse } from '../../support/sse-text.ts';
import {
  chatWire,
  decode,
  LABEL,
  messagesWire,
  requestOf,
  translate,
  wholeFor,
} from '../../support/translate.ts';

type Json = Record<string, unknown>;

const WHOLE = { stream: false };

const wholeAgain = async (name: 'chat' | 'messages', events: GenerationEvent[]): Promise<Json> =>
  JSON.parse(await wholeFor(name, events, requestOf(name, WHOLE)));

const again = async (name: 'chat' | 'messages', answer: Json): Promise<Json> =>
  wholeAgain(name, upstreamProtocols[name].decodeResponse(answer, requestOf(name, WHOLE)));

/** Named by the router. */
const CHAT_NAMES = { id: 'chatcmpl-Label', created: LABEL.created, model: LABEL.model };
/** Of the upstream that `translate` reads. */
const MARK = 'eeeeeeeeeeee';
const MESSAGES_NAMES = { id: 'msg_Label', model: LABEL.model };

const CHAT_USAGE = {
  prompt_tokens: 100,
  completion_tokens: 40,
  total_tokens: 140,
  prompt_tokens_details: { cached_tokens: 64, audio_tokens: 3, image_tokens: 0 },
  completion_tokens_details: {
    reasoning_tokens: 7,
    audio_tokens: 0,
    accepted_prediction_tokens: 12,
    rejected_prediction_tokens: 4,
  },
  prompt_cache_hit_tokens: 64,
};
const MESSAGE = {
  role: 'assistant',
  content: 'Rivers flow [1].',
  refusal: null,
  reasoning_content: 'Thinking.',
  annotations: [{ type: 'url_citation', url_citation: { url: 'https://a.test', start_index: 0 } }],
  reasoning_details: [{ type: 'reasoning.text', text: 'Thinking.', signature: 's', index: 0 }],
};
const CHAT = {
  ...CHAT_NAMES,
  object: 'chat.completion',
  service_tier: 'default',
  system_fingerprint: 'fp_1',
  citations: ['https://a.test'],
  search_results: [{ title: 'A', url: 'https://a.test' }],
  choices: [{ index: 0, message: MESSAGE, logprobs: null, finish_reason: 'stop' }],
  usage: CHAT_USAGE,
};

const MESSAGES_USAGE = {
  input_tokens: 10,
  output_tokens: 5,
  cache_creation_input_tokens: 2,
  cache_read_input_tokens: 4,
  cache_creation: { ephemeral_5m_input_tokens: 2, ephemeral_1h_input_tokens: 0 },
  output_tokens_details: { thinking_tokens: 3 },
  server_tool_use: { web_search_requests: 1, web_fetch_requests: 0 },
  service_tier: 'priority',
  inference_geo: 'us',
  speed: 'standard',
  iterations: [{ type: 'message', input_tokens: 10, output_tokens: 5 }],
};
const EDITS = { applied_edits: [{ type: 'clear_tool_uses_20250919', cleared_tool_uses: 8 }] };
const CONTAINER = { id: 'container_1', expires_at: '2026-11-22T12:00:00Z', skills: null };
const MESSAGES = {
  ...MESSAGES_NAMES,
  type: 'message',
  role: 'assistant',
  content: [
    { type: 'text', text: 'Rivers flow.', citations: [{ type: 'char_location', cited_text: 'r' }] },
  ],
  stop_reason: 'end_turn',
  stop_sequence: null,
  stop_details: null,
  container: CONTAINER,
  context_management: EDITS,
  diagnostics: null,
  usage: MESSAGES_USAGE,
};

describe('a response for a caller of the same protocol', () => {
  test('a whole chat response keeps tiers, fingerprint, citations, annotations and all token details', async () => {
    expect(await again('chat', CHAT)).toEqual(CHAT);
  });

  test('a streamed chat response keeps them too, with fragments of one reasoning detail joined', async () => {
    const chunk = (delta: Json, finish: string | null = null, rest: Json = {}) => ({
      service_tier: 'default',
      system_fingerprint: 'fp_1',
      ...rest,
      choices: [{ index: 0, delta, finish_reason: finish }],
    });
    const detail = (text: string) => [{ type: 'reasoning.text', text, index: 0 }];
    const wire = chatWire([
      chunk({
        role: 'assistant',
        reasoning_content: 'Thinking.',
        reasoning_details: detail('Think'),
      }),
      chunk({ reasoning_details: [{ ...detail('ing.')[0], signature: 's' }] }),
      chunk({ content: MESSAGE.content, annotations: MESSAGE.annotations }),
      chunk({}, 'stop', { citations: CHAT.citations, search_results: CHAT.search_results }),
      { choices: [], usage: CHAT_USAGE },
    ]);
    const { events } = await decode(upstreamProtocols.chat, wire, requestOf('chat', WHOLE));
    expect(await wholeAgain('chat', events)).toEqual(CHAT);
    const sent = readSse(await translate('chat', 'chat', wire));
    const [, signed, annotated, last] = sent.map(({ data }) => data);
    expect(parseJson(last ?? '')).toMatchObject({
      service_tier: 'default',
      citations: CHAT.citations,
      usage: CHAT_USAGE,
    });
    expect(parseJson(signed ?? '')).toMatchObject({
      choices: [{ delta: { reasoning_details: [{ signature: 's' }] } }],
    });
    expect(parseJson(annotated ?? '')).toMatchObject({
      choices: [{ delta: { annotations: MESSAGE.annotations } }],
    });
  });

  test('a whole message keeps its container, applied edits, service and steps', async () => {
    expect(await again('messages', MESSAGES)).toEqual(MESSAGES);
  });

  test('a streamed message keeps them too, the edits next to the delta', async () => {
    const { iterations, ...usage } = MESSAGES_USAGE;
    const { container, stop_details, stop_reason, stop_sequence } = MESSAGES;
    const wire = messagesWire([
      { type: 'message_start', message: { id: 'msg_1', type: 'message', usage } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      {
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'text_delta', text: 'Rivers flow.' },
      },
      {
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'citations_delta', citation: MESSAGES.content[0]?.citations[0] },
      },
      { type: 'content_block_stop', index: 0 },
      {
        type: 'message_delta',
        delta: { container, stop_details, stop_reason, stop_sequence },
        context_management: EDITS,
        usage: { output_tokens: 5, iterations },
      },
      { type: 'message_stop' },
    ]);
    const { events } = await decode(upstreamProtocols.messages, wire, requestOf('messages', WHOLE));
    expect(await wholeAgain('messages', events)).toEqual(MESSAGES);
    const sent = readSse(await translate('messages', 'messages', wire));
    expect(parseJson(sent.at(-2)?.data ?? '')).toMatchObject({
      context_management: EDITS,
      delta: { container: { ...container, id: `mrs1.${MARK}.${container.id}` } },
    });
  });

  test("a whole chat response has no costs and no other members of the operator's account", async () => {
    const usage = { ...CHAT_USAGE, cost: 0.01, cost_details: { upstream: 1 }, is_byok: true };
    expect(await again('chat', { ...CHAT, provider: 'Acme', usage })).toEqual(CHAT);
  });

  test('a caller of the other protocol gets none of these fields', async () => {
    const events = upstreamProtocols.chat.decodeResponse(CHAT, requestOf('messages'));
    const text = JSON.stringify(await wholeAgain('messages', events));
    expect(text).not.toMatch(/fp_1|citation|accepted_prediction|reasoning_details/);
  });
});

describe('the container of a message', () => {
  const tagged = (origin: string): unknown => {
    const events = upstreamProtocols.messages.decodeResponse(MESSAGES, requestOf('messages'));
    const finish = events.map(createOriginTagger(origin)).at(-1);
    return finish?.type === 'finish' ? finish.reason.container : undefined;
  };

  test.each([
    ['the upstream that issued it gets its id back', 'aaaaaaaaaaaa', 'container_1'],
    ['another upstream gets the request without its id', 'bbbbbbbbbbbb', undefined],
  ])('a container is tagged with its origin, so that %s', (_, origin, id) => {
    const container = tagged('aaaaaaaaaaaa') as { id: string };
    expect(container.id).not.toBe('container_1');
    for (const sent of [container.id, { id: container.id, skills: [] }]) {
      const request = requestOf('messages', { container: sent });
      const { container: got } = stripForeignThinking(request, origin).extras.fields;
      const expected = typeof sent === 'string' ? id : { ...(id && { id }), skills: [] };
      expect(got).toEqual(expected);
    }
  });
});
