import { describe, expect, test } from 'vitest';
import { chatRejections } from '../support/strict-upstream/chat-rules.ts';
import { messagesRejections } from '../support/strict-upstream/messages-rules.ts';

const call = { id: 'call_1', type: 'function', function: { name: 'read', arguments: '{"a":1}' } };
const tool = { type: 'function', function: { name: 'read', parameters: { type: 'object' } } };
const CHAT = {
  model: 'm',
  stream: true,
  messages: [
    { role: 'system', content: 's' },
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'call_1', content: 'x' },
  ],
  tools: [tool],
};

const use = { type: 'tool_use', id: 'toolu_1', name: 'read', input: {} };
const result = { type: 'tool_result', tool_use_id: 'toolu_1', content: 'x' };
const MESSAGES = {
  model: 'm',
  max_tokens: 10,
  messages: [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: [use] },
    { role: 'user', content: [result, { type: 'text', text: 'go on' }] },
  ],
  tools: [{ name: 'read', input_schema: { type: 'object' } }],
};

const VENDORS = {
  chat: { rejections: chatRejections, good: CHAT },
  messages: { rejections: messagesRejections, good: MESSAGES },
};

const user = (content: unknown) => [{ role: 'user', content }];
const [, , calling, answering] = CHAT.messages;
const [asked, used] = MESSAGES.messages;

/** Changes of a good request that the vendor documents as a 400, by the path that it names. */
const BAD: [wire: keyof typeof VENDORS, path: string, change: object][] = [
  ['chat', 'body.top_k', { top_k: 5 }],
  ['chat', 'messages', { messages: [] }],
  ['chat', 'messages.0.content', { messages: user([]) }],
  ['chat', 'messages.0.content.0.type', { messages: user([{ type: 'image', source: {} }]) }],
  ['chat', 'messages.0', { messages: [answering] }],
  ['chat', 'messages', { messages: [calling] }],
  ['chat', 'messages.1', { messages: [calling, ...user('hi')] }],
  ['chat', 'temperature', { temperature: 2.1 }],
  ['chat', 'stop', { stop: ['1', '2', '3', '4', '5'] }],
  ['chat', 'tool_choice', { tools: undefined, tool_choice: 'auto' }],
  ['chat', 'max_tokens', { max_tokens: 1, max_completion_tokens: 1 }],
  ['chat', 'stream_options', { stream: false, stream_options: {} }],
  ['messages', 'body.n', { n: 1 }],
  ['messages', 'max_tokens', { max_tokens: undefined }],
  ['messages', 'messages.0.role', { messages: [{ role: 'system', content: 'x' }] }],
  ['messages', 'messages.0.content.0.text', { messages: user([{ type: 'text', text: ' ' }]) }],
  ['messages', 'messages.0', { messages: user('') }],
  ['messages', 'messages (turn 1)', { messages: [asked, used] }],
  ['messages', 'messages (turn 1)', { messages: [asked, used, ...user('hi')] }],
  ['messages', 'messages.0', { messages: user([result]) }],
  ['messages', 'temperature', { temperature: 1.1 }],
  ['messages', 'tools', { tools: [...MESSAGES.tools, ...MESSAGES.tools] }],
  ['messages', 'tool_choice', { tools: undefined, tool_choice: { type: 'any' } }],
  ['messages', 'tool_choice.name', { tool_choice: { type: 'tool', name: 'other' } }],
];

const defined = (value: object): unknown => JSON.parse(JSON.stringify(value));

describe.each(['chat', 'messages'] as const)('the strict %s upstream', (wire) => {
  const { rejections, good } = VENDORS[wire];

  test('the strict upstream accepts a request that keeps the rules', () => {
    expect(rejections(good)).toEqual([]);
  });

  test.each(BAD.filter(([of]) => of === wire))(
    'the strict upstream of %s rejects %s in %j',
    (_, path, change) => {
      const paths = rejections(defined({ ...good, ...change })).map((told) => told.split(': ')[0]);
      expect(paths).toContain(path);
    },
  );
});
