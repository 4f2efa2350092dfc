import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { upstreamProtocols } from '../../../lambdas/protocols/protocols.ts';
import { ChatCompletion } from '../../support/chat-schema.ts';
import { WholeMessage } from '../../support/messages-schema.ts';
import {
  assertWellFormed,
  chatWire,
  decode,
  LABEL,
  messagesWire,
  requestOf,
  translate,
  wholeFor,
} from '../../support/translate.ts';

const MESSAGE = {
  id: 'msg_up1',
  type: 'message',
  role: 'assistant',
  content: [{ type: 'text', text: 'Hi' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 20, output_tokens: 7 },
};

/** What a caller of `to` is answered when an upstream of the messages family answers `wire`. */
const answerIn = async (to: 'chat' | 'messages', wire: object) => {
  const request = requestOf(to, { stream: false });
  const events = upstreamProtocols.messages.decodeResponse(wire, request);
  return JSON.parse(await wholeFor(to, events, request));
};

test('a usage count too large to be added up is ignored', async () => {
  const wire = { ...MESSAGE, usage: { input_tokens: 1e308, output_tokens: 7 } };
  const body = ChatCompletion.parse(await answerIn('chat', wire));
  expect(body.usage).toMatchObject({ prompt_tokens: LABEL.estimateInput(), total_tokens: 18 });
});

test('counts of server tools are those of the upstream, without its account', async () => {
  const COUNTS = { web_search_requests: 2, web_fetch_requests: 0 };
  const usage = { ...MESSAGE.usage, server_tool_use: { ...COUNTS, account: 'x' } };
  const body = WholeMessage.parse(await answerIn('messages', { ...MESSAGE, usage }));
  expect(body.usage.server_tool_use).toEqual(COUNTS);
});

const INPUT_AS_TEXT = { type: 'tool_use', id: 'toolu_1', name: 'read', input: '{"path":"a.ts"}' };
const AS_ARGUMENTS = expect.stringContaining('"arguments":"{\\"path\\":\\"a.ts\\"}"');

test('the input of a tool call that comes as the text of an object is not lost', async () => {
  const wire = { ...MESSAGE, content: [INPUT_AS_TEXT], stop_reason: 'tool_use' };
  expect(JSON.stringify(await answerIn('chat', wire))).toEqual(AS_ARGUMENTS);
  expect(await answerIn('messages', wire)).toMatchObject({
    content: [{ type: 'tool_use', input: { path: 'a.ts' } }],
  });
});

test('the input of a streamed tool call that begins as the text of an object is not lost', async () => {
  const events = [
    { type: 'message_start', message: { ...MESSAGE, content: [], stop_reason: null } },
    { type: 'content_block_start', index: 0, content_block: INPUT_AS_TEXT },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 7 } },
    { type: 'message_stop' },
  ];
  expect(await translate('messages', 'chat', messagesWire(events))).toEqual(AS_ARGUMENTS);
});

test('streamed blocks with one index are all in the whole response of a caller of the protocol', async () => {
  const added = { type: 'time_travel', id: 'a', to: { year: 1999 } };
  const events = [
    { type: 'message_start', message: { ...MESSAGE, content: [], stop_reason: null } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi' } },
    { type: 'content_block_start', index: 0, content_block: added },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 7 } },
    { type: 'message_stop' },
  ];
  const request = requestOf('messages', { stream: false });
  const decoded = await decode(upstreamProtocols.messages, messagesWire(events), request);
  const { content } = JSON.parse(await wholeFor('messages', decoded.events, request));
  expect(content).toEqual([{ type: 'text', text: 'Hi' }, added]);
});

test.each([[[]], [{}], [7], [true]])(
  'reasoning of a chat response that is no text, as %j, reaches no caller of the protocol',
  async (reasoning_content) => {
    const message = { role: 'assistant', content: 'Yes.', reasoning_content };
    const wire = { choices: [{ index: 0, message, finish_reason: 'stop' }] };
    const request = requestOf('chat', { stream: false });
    const events = upstreamProtocols.chat.decodeResponse(wire, request, JSON.stringify(wire));
    const { choices } = ChatCompletion.parse(JSON.parse(await wholeFor('chat', events, request)));
    expect(choices[0]?.message).toEqual({ role: 'assistant', content: 'Yes.', refusal: null });
  },
);

test.each([[-1], [1.5], [1e300], ['1763700000']])(
  'a creation time of a chat response that is none, as %j, is an integer for callers of the protocol',
  async (created) => {
    const choice = { index: 0, message: { content: 'Yes.' }, finish_reason: 'stop' };
    const whole = { created, choices: [choice] };
    const request = requestOf('chat', { stream: false });
    const events = upstreamProtocols.chat.decodeResponse(whole, request, JSON.stringify(whole));
    const body = ChatCompletion.parse(JSON.parse(await wholeFor('chat', events, request)));
    const { message: delta, ...last } = choice;
    const streamed = await translate(
      'chat',
      'chat',
      chatWire([{ created, choices: [{ ...last, delta }] }]),
    );
    const expected = created === 1.5 ? 1 : LABEL.created;
    expect(body.created).toBe(expected);
    expect(new Set(streamed.match(/"created":[^,]+/g))).toEqual(new Set([`"created":${expected}`]));
  },
);

test('many tool calls without arguments do not parse each other again', () => {
  const parse = vi.spyOn(JSON, 'parse');
  onTestFinished(() => parse.mockRestore());
  const call = { type: 'function', function: { name: 'time', arguments: '' } };
  const wire = {
    choices: [
      { message: { tool_calls: Array.from({ length: 300 }, () => call) }, finish_reason: 'stop' },
    ],
  };
  const events = upstreamProtocols.chat.decodeResponse(wire, requestOf('chat'));
  expect(events.filter(({ type }) => type === 'block-start')).toHaveLength(300);
  expect(parse.mock.calls.length).toBeLessThanOrEqual(300);
});

test('a tool call that goes on beside 10,000 texts holds them back until its end', async () => {
  const delta = (fields: object) => ({ choices: [{ index: 0, delta: fields }] });
  const part = (text: string) =>
    delta({ tool_calls: [{ index: 0, function: { arguments: text } }] });
  const call = { index: 0, id: 'call_1', function: { name: 'read', arguments: '{"a":"' } };
  const beside = Array.from({ length: 10_000 }, () => [delta({ content: 'x' }), part('y')]).flat();
  const end = { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] };
  const chunks = [delta({ tool_calls: [call] }), ...beside, part('"}'), end];
  const text = await translate('chat', 'messages', chatWire(chunks));
  expect(text.match(/"text":"x"/g)).toHaveLength(10_000);
});

const item = { type: 'message', id: 'a' };
const done = { type: 'response.output_item.done', output_index: 0, sequence_number: 0 };
const added = { ...done, type: 'response.output_item.added', item: { ...item, type: 'new_kind' } };
const refusal = { type: 'response.refusal.delta', output_index: 0, item_id: 'a', delta: '' };
test.each([
  ['a summary in a message', [{ ...done, item: { ...item, summary: [{ text: 'Hm' }] } }]],
  ['a delta in the end of an item', [{ ...done, item, delta: 'Hm' }]],
  ['a refusal in an item of a new kind', [added, { ...refusal, sequence_number: 1 }]],
])(
  'a stream of responses that breaks off behind %s is in the order of the vendor',
  async (_, events) => {
    const lines = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    const told = await translate('responses', 'responses', Buffer.from(lines.join('')));
    expect(assertWellFormed('responses', told, 'responses').isError).toBe(true);
  },
);

describe('a provider that sends __proto__', () => {
  const POLLUTED = JSON.parse('{"__proto__":{"polluted":true}}');
  const text = { content: 'Hi', notes: [{ index: 0, type: 'a', text: 'a' }] };
  test.each([
    ['the response', { ...POLLUTED, timings: POLLUTED, choices: [{ index: 0, delta: text }] }],
    ['a choice', { choices: [{ index: 0, ...POLLUTED, delta: text }] }],
    ['a message', { choices: [{ index: 0, delta: { ...text, ...POLLUTED } }] }],
    [
      'a list',
      {
        choices: [{ index: 0, delta: { ...text, notes: [{ index: 0, type: 'a', ...POLLUTED }] } }],
      },
    ],
  ])('changes no object of the process in two chunks: %s', async (_place, chunk) => {
    const end = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
    await translate('chat', 'chat', chatWire([chunk, chunk, end]));
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
  });
});
