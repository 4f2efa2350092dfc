import { deflateSync } from 'node:zlib';
import { MESSAGE_START, messagesEvent } from '../../support/messages-events.ts';

type Wire = 'chat' | 'messages';

/** An answer that goes on for ever: `piece` is its next part. */
export type Endless = {
  id: string;
  wire: Wire;
  opening: string;
  piece: (index: number) => string;
};

const X = 'x'.repeat(16_000);

const delta = (part: object) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: part, finish_reason: null }] })}\n\n`;
const call = (index: number, name: string | undefined, text: string) =>
  delta({
    tool_calls: [
      {
        index,
        ...(name && { id: `call_${index}`, type: 'function' }),
        function: { ...(name && { name }), arguments: text },
      },
    ],
  });

const blockStart = (index: number, block: object) =>
  messagesEvent('content_block_start', { index, content_block: block });
const blockDelta = (part: object, index = 0) =>
  messagesEvent('content_block_delta', { index, delta: part });
const toolUse = (index: number) => ({
  type: 'tool_use',
  id: `t_${index}`,
  name: 'read',
  input: {},
});
const CHAT: [string, string, Endless['piece']][] = [
  ['text', '', () => delta({ content: X })],
  ['reasoning', '', () => delta({ reasoning_content: X })],
  ['arguments', call(0, 'read', '{"a":"'), () => call(0, undefined, X)],
  ['calls', '', (index) => call(index, 'read', `{"a":"${X}"}`)],
];
const MESSAGES: [string, string, Endless['piece']][] = [
  [
    'text',
    blockStart(0, { type: 'text', text: '' }),
    () => blockDelta({ type: 'text_delta', text: X }),
  ],
  [
    'thinking',
    blockStart(0, { type: 'thinking', thinking: '', signature: '' }),
    () => blockDelta({ type: 'thinking_delta', thinking: X }),
  ],
  [
    'arguments',
    blockStart(0, toolUse(0)) + blockDelta({ type: 'input_json_delta', partial_json: '{"a":"' }),
    () => blockDelta({ type: 'input_json_delta', partial_json: X }),
  ],
  [
    'calls',
    '',
    (index) =>
      blockStart(index, toolUse(index)) +
      blockDelta({ type: 'input_json_delta', partial_json: `{"a":"${X}"}` }, index) +
      messagesEvent('content_block_stop', { index }),
  ],
];

export const ENDLESS: Endless[] = [
  ...CHAT.map(([name, opening, piece]) => ({
    id: `vendor/chat-${name}`,
    wire: 'chat' as const,
    opening: delta({ role: 'assistant', content: '' }) + opening,
    piece,
  })),
  ...MESSAGES.map(([name, opening, piece]) => ({
    id: `vendor/messages-${name}`,
    wire: 'messages' as const,
    opening: MESSAGE_START + opening,
    piece,
  })),
];

export const endlessOf = (id: string): Endless | undefined => ENDLESS.find((one) => one.id === id);

const asked = (extra: object, content = 'hi') =>
  JSON.stringify({
    model: 'vendor/well',
    max_tokens: 10,
    messages: [{ role: 'user', content }],
    ...extra,
  });

const members = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, 0]));
const schemaOf = (count: number) => ({
  type: 'object',
  properties: Object.fromEntries(
    Array.from({ length: count }, (_, at) => [
      `p${at}`,
      { type: 'string', description: X.slice(0, 500) },
    ]),
  ),
});

/** A file that inflates to a thousand times its size. */
const pdfOf = (inflatedBytes: number) =>
  Buffer.concat([
    Buffer.from('%PDF-1.7 /ObjStm stream\n'),
    deflateSync(Buffer.alloc(inflatedBytes)),
    Buffer.from('endstream'),
  ]).toString('base64');
const documentsOf = (count: number, data: string) =>
  Array.from({ length: count }, () => ({
    type: 'document',
    source: { type: 'base64', media_type: 'application/pdf', data },
  }));

/** Requests near the limit of 5.5 MB or of what a body may hold, each large in another way. */
export const GROWN: { name: string; path: string; body: () => string }[] = [
  {
    name: 'a text of 5 MB',
    path: '/v1/chat/completions',
    body: () => asked({}, 'word '.repeat(1_000_000)),
  },
  {
    name: '40 objects of 9,999 members',
    path: '/v1/chat/completions',
    body: () => asked({ metadata_list: Array.from({ length: 40 }, () => members(9_999)) }),
  },
  {
    name: 'a list of 2,600,000 numbers',
    path: '/v1/chat/completions',
    body: () => asked({ list: new Array(2_600_000).fill(0) }),
  },
  {
    name: '9,000 lists beside a text of 400 KB',
    path: '/v1/chat/completions',
    body: () =>
      asked(
        Object.fromEntries(Array.from({ length: 9_000 }, (_, at) => [`list${at}`, []])),
        'word '.repeat(80_000),
      ),
  },
  {
    name: '15,000 blocks that no target can take',
    path: '/v1/messages',
    body: () =>
      asked({
        model: 'vendor/chat',
        messages: [
          {
            role: 'user',
            content: Array.from({ length: 15_000 }, (_, index) => ({ type: `x${index}` })),
          },
        ],
      }),
  },
  {
    name: '18,000 tools in namespaces',
    path: '/v1/responses',
    body: () =>
      asked({
        input: 'hi',
        max_tokens: undefined,
        messages: undefined,
        tools: Array.from({ length: 200 }, (_, index) => ({
          type: 'namespace',
          name: `n${index}`,
          description: '',
          tools: Array.from({ length: 90 }, (_, tool) => ({ type: 'function', name: `t${tool}` })),
        })),
      }),
  },
  {
    name: '700 PDFs that inflate to 4 MB each',
    path: '/v1/messages/count_tokens',
    body: () =>
      asked({ messages: [{ role: 'user', content: documentsOf(700, pdfOf(4_194_000)) }] }),
  },
  {
    name: 'a tool schema of 5 MB',
    path: '/v1/messages',
    body: () => asked({ tools: [{ name: 'read', input_schema: schemaOf(9_000) }] }),
  },
  {
    name: '9,999 messages of 500 characters',
    path: '/v1/messages',
    body: () =>
      asked({
        messages: Array.from({ length: 9_999 }, (_, at) => ({
          role: at % 2 === 0 ? 'user' : 'assistant',
          content: X.slice(0, 500),
        })),
      }),
  },
];
