const PATHS = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
};
type Caller = keyof typeof PATHS;

/** A request whose parts refer to each other; `model` speaks the protocol of its target. */
type Tangled = {
  name: string;
  caller: Caller;
  model: 'vendor/chat' | 'vendor/messages';
  body: () => object;
};

const many = <T>(count: number, of: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => of(index));
const named = (count: number, of: (index: number) => unknown) =>
  Object.fromEntries(many(count, (index) => [`k${index}`, of(index)]));

const QUESTION = { role: 'user', content: 'hi' };
const call = (id: string) => ({
  id,
  type: 'function',
  function: { name: 'read', arguments: '{}' },
});
const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'ok' });
/** A question whose answer has the form of a schema. */
const formed = (schema: object) => ({
  messages: [QUESTION],
  response_format: {
    type: 'json_schema',
    json_schema: { name: 'out', schema: { type: 'object', ...schema } },
  },
});
const SIGNED = 'mrs1.0123456789ab.signature';
/** Thinking whose places go to and fro between the start of its message and its end. */
const thoughts = (count: number, end: [number, number]) =>
  many(count, (index) => ({
    type: 'reasoning.text',
    text: 'hm',
    signature: SIGNED,
    position: index % 2 === 0 ? end : [0, 0],
  }));
/** An id as the router writes it, with more levels than any response has. */
const DEEP_ID = `toolu_c_${Buffer.from(
  `{"id":"a","extras":{"protocol":"chat","fields":{"a":${'{"b":'.repeat(80_000)}1${'}'.repeat(80_000)}}}}`,
).toString('base64url')}`;

const ROWS: [Caller, Tangled['model'], string, Tangled['body']][] = [
  [
    'chat',
    'vendor/messages',
    '9,000 references to one part of a schema, each spelled differently',
    () =>
      formed({
        properties: named(9_000, (index) => ({ $ref: `a${index}/$defs/part` })),
        $defs: { part: { enum: new Array(20_000).fill(1) } },
      }),
  ],
  [
    'chat',
    'vendor/messages',
    '40,000 references in 55 named levels',
    () => {
      const levels = many(55, (index) => `#${'/a'.repeat(55 - index)}`);
      return formed({
        ...levels.reduce<object>((inner) => ({ a: inner }), {
          anyOf: many(40_000, () => ({ $ref: '#/x/x/x/x/x/x' })),
        }),
        properties: { r: { anyOf: levels.map(($ref) => ({ $ref })) } },
      });
    },
  ],
  [
    'chat',
    'vendor/messages',
    'references of 400 KB that are not escaped',
    () =>
      formed({ properties: named(2, (index) => ({ $ref: `#/k${index}${'/%'.repeat(200_000)}` })) }),
  ],
  [
    'messages',
    'vendor/chat',
    '9,990 properties, required among 70,000 names',
    () => ({
      messages: [QUESTION],
      tools: [
        {
          name: 'read',
          strict: true,
          input_schema: {
            type: 'object',
            additionalProperties: false,
            properties: named(9_990, () => ({})),
            required: [
              ...many(60_000, (index) => `other${index}`),
              ...Object.keys(named(9_990, String)),
            ],
          },
        },
      ],
    }),
  ],
  [
    'chat',
    'vendor/messages',
    '6,000 tool calls with one id',
    () => ({
      messages: [
        { role: 'assistant', tool_calls: many(6_000, () => call('same')) },
        ...many(6_000, () => result('same')),
      ],
    }),
  ],
  [
    'chat',
    'vendor/messages',
    '4,900 equal ids whose new names are taken',
    () => {
      const ids = [...many(4_900, (index) => `same_${index + 2}`), ...many(4_900, () => 'same')];
      return { messages: [{ role: 'assistant', tool_calls: ids.map(call) }, ...ids.map(result)] };
    },
  ],
  [
    'messages',
    'vendor/messages',
    '9,999 turns of one role',
    () => ({
      messages: new Array(9_999).fill({
        role: 'user',
        content: many(2, () => ({ type: 'text', text: 'hi' })),
      }),
    }),
  ],
  [
    'responses',
    'vendor/chat',
    '9,990 items of one response',
    () => ({
      input: [
        ...new Array(9_990).fill({
          role: 'assistant',
          content: many(2, () => ({ type: 'output_text', text: 'hi' })),
        }),
        QUESTION,
      ],
    }),
  ],
  [
    'chat',
    'vendor/chat',
    '9,990 results of one function',
    () => ({
      functions: [{ name: 'read' }],
      messages: [
        { role: 'assistant', function_call: { name: 'read', arguments: '{}' } },
        ...many(9_990, () => ({ role: 'function', name: 'read', content: 'ok' })),
      ],
    }),
  ],
  [
    'chat',
    'vendor/messages',
    'thinking that goes back in a text',
    () => ({
      messages: [
        {
          role: 'assistant',
          content: 'x'.repeat(200_000),
          reasoning_details: thoughts(100, [200_000, 0]),
        },
        QUESTION,
      ],
    }),
  ],
  [
    'chat',
    'vendor/chat',
    'thinking that goes back before tool calls',
    () => ({
      messages: [
        {
          role: 'assistant',
          content: 'hi',
          reasoning_details: thoughts(300, [0, 300]),
          tool_calls: many(300, (index) => call(`call_${index}`)),
        },
        ...many(300, (index) => result(`call_${index}`)),
      ],
    }),
  ],
  [
    'messages',
    'vendor/chat',
    'an id of 80,000 levels',
    () => ({
      messages: [
        QUESTION,
        {
          role: 'assistant',
          content: [{ type: 'tool_use', id: DEEP_ID, name: 'read', input: {} }],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: DEEP_ID, content: 'ok' }] },
      ],
    }),
  ],
];

/** Requests that are far below the limits, and in which each part could cost as much as all others together. */
export const TANGLED = ROWS.map(([caller, model, name, body]) => ({
  name,
  path: PATHS[caller],
  body: () =>
    JSON.stringify({
      model,
      ...(caller === 'responses' ? {} : { max_tokens: 10 }),
      ...body(),
    }),
}));
