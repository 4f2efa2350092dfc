/** Requests that clients of every protocol send. */
export const PATHS = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
};

/** A conversation, and the cap of its response, as the callers of a protocol send them. */
export const conversationOf = (path: keyof typeof PATHS, turns: object[], cap = 100) =>
  path === 'responses'
    ? { input: turns, max_output_tokens: cap }
    : { messages: turns, max_tokens: cap };

export type Form = { path: keyof typeof PATHS; fields: object };

const FUNCTION = { name: 'f', parameters: { type: 'object', properties: {} } };
export const CHAT_TOOLS = { tools: [{ type: 'function', function: FUNCTION }] };
export const TOOLS = { tools: [{ name: 'f', input_schema: { type: 'object' } }] };
export const messages = [{ role: 'user', content: 'hi' }];

/** The body of a form, but for the model. */
export const bodyOf = ({ path, fields }: Form) => ({
  ...(path === 'responses' ? { input: 'hi', store: false } : { messages, max_tokens: 20_000 }),
  ...fields,
});

const LOOP = {
  ...CHAT_TOOLS,
  messages: [
    ...messages,
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'c1', content: 'done' },
  ],
};

const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

/** What clients of every protocol send, none of it a mistake. */
export const FORMS: Record<string, Form> = {
  ...Object.fromEntries(
    EFFORTS.map((effort) => [
      `reasoning_effort ${effort}`,
      { path: 'chat' as const, fields: { reasoning_effort: effort } },
    ]),
  ),
  'an effort and a temperature': {
    path: 'chat',
    fields: { reasoning_effort: 'high', temperature: 0.2 },
  },
  'an effort and a cap of 1,100 tokens': {
    path: 'chat',
    fields: { reasoning_effort: 'high', max_tokens: 1100 },
  },
  'an effort in a tool loop': { path: 'chat', fields: { ...LOOP, reasoning_effort: 'medium' } },
  'a temperature': { path: 'chat', fields: { temperature: 0.2, top_p: 0.5 } },
  'a penalty': { path: 'chat', fields: { presence_penalty: 0.5 } },
  'an effort and a forced tool': {
    path: 'chat',
    fields: { ...CHAT_TOOLS, tool_choice: 'required', reasoning_effort: 'low' },
  },
  'adaptive thinking and an effort': {
    path: 'messages',
    fields: { thinking: { type: 'adaptive' }, output_config: { effort: 'max' }, ...TOOLS },
  },
  'a thinking budget': {
    path: 'messages',
    fields: { thinking: { type: 'enabled', budget_tokens: 4096 } },
  },
  'thinking turned off': { path: 'messages', fields: { thinking: { type: 'disabled' } } },
  'thinking turned off and the highest effort': {
    path: 'messages',
    fields: { thinking: { type: 'disabled' }, output_config: { effort: 'max' } },
  },
  'sampling fields of messages': { path: 'messages', fields: { temperature: 0.3, top_k: 5 } },
  'a forced tool of messages': {
    path: 'messages',
    fields: { ...TOOLS, tool_choice: { type: 'tool', name: 'f' } },
  },
  'a reasoning effort of responses': {
    path: 'responses',
    fields: { reasoning: { effort: 'high' }, max_output_tokens: 20_000 },
  },
};
