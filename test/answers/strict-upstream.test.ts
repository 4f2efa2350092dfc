import { describe, expect, test } from 'vitest';
import { SEAL } from '../support/strict-upstream/responses-rules.ts';
import { VENDORS } from '../support/strict-upstream/vendors.ts';
import { WIRES, type Wire } from '../support/wires.ts';

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

const called = { type: 'function_call', call_id: 'call_1', name: 'read', arguments: '{}' };
const output = { type: 'function_call_output', call_id: 'call_1', output: 'x' };
const reasoning = { type: 'reasoning', summary: [], encrypted_content: `${SEAL}1` };
const OPEN = { type: 'object', properties: { a: { type: 'string' } } };
const RESPONSES = {
  model: 'm',
  store: false,
  include: ['reasoning.encrypted_content'],
  input: [{ role: 'user', content: 'hi' }, reasoning, called, output],
  tools: [{ type: 'function', name: 'read', parameters: OPEN, strict: false }],
};

const call1 = { functionCall: { id: 'a', name: 'read', args: {} }, thoughtSignature: 'c2ln' };
const result1 = { functionResponse: { id: 'a', name: 'read', response: { output: 'x' } } };
const part = (text: string) => ({ role: 'user', parts: [{ text }] });
const GEMINI = {
  contents: [part('hi'), { role: 'model', parts: [call1] }, { role: 'user', parts: [result1] }],
  tools: [{ functionDeclarations: [{ name: 'read', parametersJsonSchema: OPEN }] }],
  generationConfig: { maxOutputTokens: 10, thinkingConfig: { includeThoughts: true } },
};

const GOOD: Record<Wire, object> = {
  chat: CHAT,
  messages: MESSAGES,
  responses: RESPONSES,
  gemini: GEMINI,
};

const user = (content: unknown) => [{ role: 'user', content }];
const [, , calling, answering] = CHAT.messages;
const [asked, used] = MESSAGES.messages;
const asks = { role: 'user', content: 'hi' };

/** Changes of a good request that the vendor documents as a 400, by the path that it names. */
const BAD: [wire: Wire, path: string, change: object][] = [
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
  ['responses', 'body.stop', { stop: ['a'] }],
  ['responses', 'store', { store: true }],
  ['responses', 'input.0.role', { input: [{ role: 'tool', content: 'x' }] }],
  ['responses', 'input', { input: [asks, called] }],
  ['responses', 'input.1.call_id', { input: [asks, output] }],
  ['responses', 'input.2.call_id', { input: [asks, called, { ...called }, output] }],
  ['responses', 'input.1', { input: [asks, reasoning, asks] }],
  [
    'responses',
    'input.1.encrypted_content',
    { input: [asks, { ...reasoning, encrypted_content: 'x' }, called, output] },
  ],
  ['responses', 'input.1.id', { input: [asks, { ...called, id: 'call_1' }, output] }],
  [
    'responses',
    'input.0.content.0.type',
    { input: [{ role: 'assistant', content: [{ type: 'input_text', text: 'x' }] }] },
  ],
  ['responses', 'max_output_tokens', { max_output_tokens: 8 }],
  ['responses', 'tools.0.strict', { tools: [{ type: 'function', name: 'a', parameters: null }] }],
  [
    'responses',
    'tools.0.parameters.required',
    { tools: [{ ...RESPONSES.tools[0], strict: true }] },
  ],
  ['responses', 'tool_choice', { tool_choice: { type: 'function', name: 'other' } }],
  ['gemini', 'contents', { contents: [] }],
  ['gemini', 'contents.0.parts.0.txt', { contents: [{ role: 'user', parts: [{ txt: 'x' }] }] }],
  ['gemini', 'contents', { contents: [part('hi'), { role: 'model', parts: [call1] }] }],
  [
    'gemini',
    'contents',
    {
      contents: [
        part('hi'),
        { role: 'model', parts: [{ functionCall: call1.functionCall }] },
        { role: 'user', parts: [result1] },
      ],
    },
  ],
  [
    'gemini',
    'generationConfig.responseJsonSchema.properties.a.pattern',
    {
      generationConfig: {
        responseMimeType: 'application/json',
        responseJsonSchema: { properties: { a: { type: 'string', pattern: 'x' } } },
      },
    },
  ],
  ['gemini', 'generationConfig.topP', { generationConfig: { topP: 2 } }],
  [
    'gemini',
    'generationConfig.stopSequences',
    { generationConfig: { stopSequences: ['1', '2', '3', '4', '5', '6'] } },
  ],
  [
    'gemini',
    'toolConfig.functionCallingConfig.mode',
    { toolConfig: { functionCallingConfig: { mode: 'any' } } },
  ],
  [
    'gemini',
    'toolConfig',
    { toolConfig: { functionCallingConfig: { mode: 'AUTO', allowedFunctionNames: ['read'] } } },
  ],
];

const defined = (value: object): unknown => JSON.parse(JSON.stringify(value));

describe.each(WIRES)('the strict %s upstream', (wire) => {
  const { rejections } = VENDORS[wire];
  const good = GOOD[wire];

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
