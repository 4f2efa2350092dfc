import { fields, MESSAGES, type On, POSTS, type Row } from './draft.ts';

type Case = [name: string, status: number, change: Record<string, unknown>];

const table = (on: On[], cases: Case[]): Row[] =>
  cases.map(([name, status, change]) => fields(name, on, status, change));

const CHAT: On[] = ['chat'];
const GENERATE: On[] = ['chat', 'messages'];
const ONLY_MESSAGES: On[] = ['messages'];

const user = (content: unknown) => ({ messages: [{ role: 'user', content }] });
const PIXEL = 'data:image/png;base64,iVBORw0KGgo=';
const image = (url: string) => user([{ type: 'image_url', image_url: { url } }]);

const chatTool = (name: unknown, parameters: unknown = { type: 'object' }) => ({
  type: 'function',
  function: { name, parameters },
});
const tool = (name: unknown, input_schema: unknown = { type: 'object' }) => ({
  name,
  input_schema,
});

const called = {
  role: 'assistant',
  content: null,
  tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } }],
};

const media = (type: string, change: object = {}) => ({
  type,
  source: { type: 'base64', media_type: 'image/png', data: 'aGk=', ...change },
});
const DISK = { type: 'url', url: 'file:///etc/passwd' };
const IMAGE = media('image');

export const FIELD_ROWS: Row[] = [
  ...table(POSTS, [
    ['106 no model', 400, { model: undefined }],
    ['106 model null', 400, { model: null }],
    ['106 model a number', 400, { model: 7 }],
    ['106 model empty', 400, { model: '' }],
    ['106 model unknown', 400, { model: 'no/model' }],
    ['106 model __proto__', 400, { model: '__proto__' }],
    ['107 model in capitals', 400, { model: 'VENDOR/MODEL' }],
    ['107 model with spaces', 400, { model: ' vendor/model ' }],
    ['107 model of 10 KB', 400, { model: 'x'.repeat(10_000) }],
    ['108 no messages', 400, { messages: undefined }],
    ['108 messages an object', 400, { messages: {} }],
    ['108 messages empty', 400, { messages: [] }],
    ['108 messages null', 400, { messages: null }],
    ['108 messages of null', 400, { messages: [null] }],
    ['109 no role', 400, { messages: [{ content: 'x' }] }],
    ['109 role in capitals', 400, { messages: [{ role: 'USER', content: 'x' }] }],
    ['109 role function', 400, { messages: [{ role: 'function', name: 'f', content: 'x' }] }],
    ['110 content null', 400, user(null)],
    ['110 content a number', 400, user(1)],
    ['115 stream a text', 400, { stream: 'true' }],
    ['115 stream a number', 400, { stream: 1 }],
    ['115 stream null', 200, { stream: null }],
    ['118 temperature below 0', 400, { temperature: -0.1 }],
    ['118 temperature a text', 400, { temperature: '1' }],
    ['118 temperature 0', 200, { temperature: 0 }],
    ['120 tools an object', 400, { tools: {} }],
  ]),
  ...table(CHAT, [
    [
      '109 role developer',
      200,
      {
        messages: [
          { role: 'developer', content: 'x' },
          { role: 'user', content: 'x' },
        ],
      },
    ],
    [
      '110 content null beside calls',
      200,
      {
        messages: [
          ...user('x').messages,
          called,
          { role: 'tool', tool_call_id: 'call_1', content: 'x' },
        ],
      },
    ],
    [
      '111 a result without its call',
      400,
      { messages: [{ role: 'tool', tool_call_id: 'none', content: 'x' }] },
    ],
    ['111 a result without an id', 400, { messages: [{ role: 'tool', content: 'x' }] }],
    ['112 an image for a model without eyes', 400, image(PIXEL)],
    [
      '114 an image that is no base64',
      400,
      { ...image('data:image/png;base64,***'), model: 'vendor/eyes' },
    ],
    [
      '114 an image by address is handed on',
      200,
      { ...image('http://169.254.169.254/x'), model: 'vendor/eyes' },
    ],
    [
      '114 an image in the other family’s block, on a disk',
      400,
      user([{ type: 'image', source: DISK }]),
    ],
    ['114 an image on a disk', 400, { ...image('file:///etc/passwd'), model: 'vendor/eyes' }],
    ['113 tools for a model without hands', 400, { tools: [chatTool('f')], model: 'vendor/mute' }],
    ['117 max_tokens 0', 400, { max_tokens: 0 }],
    ['118 temperature 2', 200, { temperature: 2 }],
    ['118 temperature 2.1', 400, { temperature: 2.1 }],
    ['119 five stops', 400, { stop: ['a', 'b', 'c', 'd', 'e'] }],
    ['119 four stops', 200, { stop: ['a', 'b', 'c', 'd'] }],
    ['119 no stops', 200, { stop: [] }],
    ['119 an empty stop', 400, { stop: '' }],
    ['119 a stop that is a number', 400, { stop: [1] }],
    ['120 a tool without a name', 400, { tools: [chatTool(undefined)] }],
    ['120 two tools of one name', 400, { tools: [chatTool('f'), chatTool('f')] }],
    ['120 a name of 65 characters', 400, { tools: [chatTool('f'.repeat(65))] }],
    ['120 a name with spaces', 400, { tools: [chatTool('a b')] }],
    ['120 a schema that is a text', 400, { tools: [chatTool('f', 'object')] }],
    ['120 a schema of another type', 400, { tools: [chatTool('f', { type: 'string' })] }],
    ['120 a schema without a type', 200, { tools: [chatTool('f', {})] }],
    [
      '120 the other family’s tool, its schema of another type',
      400,
      { tools: [tool('f', { type: '' })] },
    ],
    [
      '120 a provider’s own tool with a schema',
      200,
      { tools: [{ type: 'search', input_schema: {} }] },
    ],
    ['121 a choice of another word', 400, { tools: [chatTool('f')], tool_choice: 'any' }],
    [
      '121 a choice that is not there',
      400,
      { tools: [chatTool('f')], tool_choice: { type: 'function', function: { name: 'g' } } },
    ],
    ['121 a call without tools', 400, { tool_choice: 'required' }],
    ['122 another format', 400, { response_format: { type: 'yaml' } }],
    ['123 two answers', 200, { n: 2 }],
    ['124 usage in the stream', 200, { stream: true, stream_options: { include_usage: true } }],
  ]),
  ...table(GENERATE, [
    ['116 a stream of a model that does not', 400, { stream: true, model: 'vendor/mute' }],
    ['117 max_tokens -1', 400, { max_tokens: -1 }],
    ['117 max_tokens 1.5', 400, { max_tokens: 1.5 }],
    ['117 max_tokens a text', 400, { max_tokens: '10' }],
    ['117 max_tokens over the model’s is brought down to it', 200, { max_tokens: 100_001 }],
    ['125 more than the context', 400, user('a b c d '.repeat(600_000))],
  ]),
  ...table(CHAT, [['117 max_tokens null', 200, { max_tokens: null }]]),
  ...table(ONLY_MESSAGES, [
    ['126 no max_tokens', 400, { max_tokens: undefined }],
    ['135 an image for a model without eyes', 400, user([IMAGE])],
    [
      '131 a choice that is not there',
      400,
      { tools: [tool('f')], tool_choice: { type: 'tool', name: 'g' } },
    ],
    [
      '132 a result without its call',
      400,
      user([{ type: 'tool_result', tool_use_id: 'x', content: 'x' }]),
    ],
    ['134 an empty text', 400, user([{ type: 'text', text: '' }])],
  ]),
  ...table(MESSAGES, [
    [
      '127 a system turn',
      200,
      { messages: [...user('x').messages, { role: 'system', content: 'x' }] },
    ],
    [
      '128 two turns of the user',
      200,
      { messages: [...user('x').messages, ...user('y').messages] },
    ],
    ['129 system a number', 400, { system: 7 }],
    ['129 system empty', 200, { system: [] }],
    ['129 system in blocks', 200, { system: [{ type: 'text', text: 'x' }] }],
    ['130 temperature 1.1', 400, { temperature: 1.1 }],
    ['131 a choice that is a text', 400, { tools: [tool('f')], tool_choice: 'auto' }],
    ['131 a choice without a name', 400, { tools: [tool('f')], tool_choice: { type: 'tool' } }],
    ['133 a stop that is no list', 400, { stop_sequences: 'x' }],
    ['133 an empty stop', 400, { stop_sequences: [''] }],
    ['136 a block of no kind', 400, user([{ text: 'x' }])],
    ['136 a known block without its parts', 400, user([{ type: 'text' }])],
    ['an image that is not base64', 400, user([media('image', { data: '***' })])],
    ['an image on a disk', 400, user([{ type: 'image', source: DISK }])],
    ['a document that is not base64', 400, user([media('document', { data: '***' })])],
    ['a document of no type', 400, user([media('document', { media_type: '{' })])],
    ['a document on a disk', 400, user([{ type: 'document', source: DISK }])],
    ['a schema that is no object', 400, { tools: [tool('f', { type: 'array' })] }],
  ]),
  ...table(
    ['count'],
    [
      ['137 no max_tokens is needed', 200, {}],
      ['137 a stream means nothing', 200, { stream: true }],
      ['135 an image, which may be counted for any model', 200, user([IMAGE])],
      [
        '125 more than the context, which is what counting is for',
        200,
        user('one two '.repeat(600_000)),
      ],
    ],
  ),
];
