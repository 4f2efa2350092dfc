import { expect, test } from 'vitest';
import { callerProtocols, upstreamProtocols } from '../../../lambdas/protocols/protocols.ts';
import { createOriginTagger } from '../../../lambdas/protocols/thinking/origin.ts';
import { differencesIn, expectListed } from '../../support/member-paths.ts';
import { samplesOf } from '../../support/samples-of-type.ts';
import { chatWire, decode, LABEL, messagesWire, requestOf } from '../../support/translate.ts';

/**
 * Every member of the events of a stream in the official SDKs' types, from an upstream to a caller of the same
 * protocol; a new version of an SDK that brings one fails here, unless it is carried. What other callers get of
 * a stream is what they get of a whole response (whole-or-streamed.test.ts, sdk-answers.test.ts).
 */
type Event = { type: string } & Record<string, unknown>;

const ORIGIN = 'eeeeeeeeeeee';
const NAMED = 'the router names its responses';
const TAGGED = 'tagged with its origin, untagged when it is sent back';
const DRAW = { type: 'custom', custom: { name: 'draw' } };

const sentAgain = async (from: 'chat' | 'messages', wire: string): Promise<unknown[]> => {
  const request = requestOf(from, from === 'chat' ? { tools: [DRAW] } : {});
  const { events, fault } = await decode(upstreamProtocols[from], wire, request);
  expect(fault).toBeUndefined();
  const encoder = callerProtocols[from].streamEncoder(request, LABEL);
  return events
    .map(createOriginTagger(ORIGIN))
    .flatMap(encoder.push)
    .flatMap((message) => ('data' in message && message.data !== '[DONE]' ? [message.data] : []))
    .map((data): unknown => JSON.parse(data));
};

test("a chunk with every member of the SDK's ChatCompletionChunk reaches a caller of chat", async () => {
  const start = { id: 'given', type: 'function', index: 0, function: { name: 'f', arguments: '' } };
  const values = {
    finish_reason: 'tool_calls',
    'choices.index': 0,
    'delta.role': 'assistant',
    'delta.function_call': undefined,
    'delta.tool_calls': [start, { index: 0, function: { arguments: '{}' } }],
    completion_tokens: 7,
    prompt_tokens: 9,
    total_tokens: 16,
  };
  const module = 'openai/resources/chat/completions/completions';
  const different = new Set<string>();
  for (const chunk of samplesOf(module, 'ChatCompletionChunk', { values })) {
    const read = await sentAgain('chat', chatWire([chunk as object]));
    for (const path of differencesIn([chunk], read)) different.add(path);
  }
  expectListed(different, {
    id: NAMED,
    model: NAMED,
  });
});

const MESSAGES = '@anthropic-ai/sdk/resources/beta/messages/messages';

const VALUES = {
  // The text of a block comes in its deltas.
  'content_block.text': '',
  'content_block.citations': undefined,
  'content_block.thinking': '',
  'content_block.signature': '',
  'content_block.input': {},
  'delta.partial_json': '{"a":"b"}',
  // A message starts without content, and with nothing of its end.
  'message.content': [],
  'message.container': undefined,
  'message.context_management': undefined,
  'message.stop_details': undefined,
  'message.stop_reason': undefined,
  'message.stop_sequence': undefined,
  // A reason that any content has.
  'delta.stop_reason': 'max_tokens',
  service_tier: 'standard',
  index: 0,
};

const eventsOf = (type: string) => samplesOf(MESSAGES, type, { values: VALUES }) as Event[];

/** The form for the n-th stream. */
const nth = (events: Event[], index: number): Event[] =>
  events.slice(index % events.length).slice(0, 1);

/** The deltas that a block may have; all others have none. */
const DELTAS: Record<string, string[]> = {
  text: ['text_delta', 'citations_delta'],
  thinking: ['thinking_delta', 'signature_delta'],
  tool_use: ['input_json_delta'],
  server_tool_use: ['input_json_delta'],
  mcp_tool_use: ['input_json_delta'],
  compaction: ['compaction_delta'],
};

const typeIn = (value: unknown): string => (value as { type: string }).type;

test("events with every member of the SDK's types of a stream reach a caller of messages", async () => {
  const starts = eventsOf('BetaRawMessageStartEvent');
  const deltas = eventsOf('BetaRawContentBlockDeltaEvent');
  const ends = eventsOf('BetaRawMessageDeltaEvent');
  const different = new Set<string>();
  for (const [index, block] of eventsOf('BetaRawContentBlockStartEvent').entries()) {
    const kinds = DELTAS[typeIn(block.content_block)] ?? [];
    const stream = [
      ...nth(starts, index),
      block,
      ...deltas.filter(({ delta }) => kinds.includes(typeIn(delta))),
      { type: 'content_block_stop', index: 0 },
      ...nth(ends, index),
      { type: 'message_stop' },
    ];
    const read = await sentAgain('messages', messagesWire(stream));
    for (const path of differencesIn(stream, read)) different.add(path);
  }
  expectListed(different, {
    '[message_start].message[message].id': NAMED,
    '[message_start].message[message].model': NAMED,
    '[content_block_start].content_block[redacted_thinking].data': TAGGED,
    '[content_block_delta].delta[signature_delta].signature': TAGGED,
    '[message_delta].delta.container.id': TAGGED,
  });
});
