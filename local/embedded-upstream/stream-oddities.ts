type Json = Record<string, unknown>;

/** Turns the messages of a valid stream into the chunks of an odd one. */
type Oddity = (messages: string[], protocol: string) => (string | Uint8Array)[];

/** A chunk that is a pause: the router reads the previous chunks before it gets the next. */
export const PAUSE = '';

/** Above the 5 MB that the router reads of one event. */
const LONG_LINE = 6_000_000;

const eachJson =
  (change: (event: Json) => Json): Oddity =>
  (messages) =>
    messages.map((message) =>
      message.replace(/^data: (\{.*)$/m, (_, json: string) => {
        const changed = change(JSON.parse(json));
        return `data: ${JSON.stringify(changed).replaceAll('"huge"', '1e400')}`;
      }),
    );

const between =
  (inserted: string): Oddity =>
  (messages) =>
    messages.flatMap((message) => [inserted, message]);

const END: Record<string, string> = {
  chat: 'data: [DONE]\n\n',
  messages: 'event: message_stop\ndata: {"type":"message_stop"}\n\n',
};

const event = (value: Json) => `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`;

/** A tool call with incomplete arguments. */
const BROKEN_CALL: Record<string, string> = {
  chat: `data: ${JSON.stringify({
    choices: [
      {
        index: 0,
        delta: {
          tool_calls: [{ index: 0, id: 'call_1', function: { name: 'f', arguments: '{"a":' } }],
        },
      },
    ],
  })}\n\n`,
  messages: [
    event({
      type: 'content_block_start',
      index: 9,
      content_block: { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} },
    }),
    event({
      type: 'content_block_delta',
      index: 9,
      delta: { type: 'input_json_delta', partial_json: '{"a":' },
    }),
    event({ type: 'content_block_stop', index: 9 }),
  ].join(''),
};

const isFinish = (message: string): boolean => /"finish_reason":"|"message_delta"/.test(message);

const beforeFinish =
  (inserted: Record<string, string>): Oddity =>
  (messages, protocol) =>
    messages.flatMap((message) =>
      isFinish(message) ? [PAUSE, inserted[protocol] ?? '', message] : [message],
    );

const withUsage = (usage: unknown) =>
  eachJson((value) => {
    const { message } = value;
    const inner = typeof message === 'object' && message !== null ? { ...message, usage } : message;
    return {
      ...value,
      ...('usage' in value && { usage }),
      ...(message !== undefined && { message: inner }),
    };
  });

/** Streams that real providers, proxies and broken networks send. Some are valid, some are not. */
export const STREAM_ODDITIES = {
  bytes: (messages) => Array.from(Buffer.from(messages.join('')), (byte) => Uint8Array.of(byte)),
  'one-chunk': (messages) => [messages.join('')],
  crlf: (messages) => [messages.join('').replaceAll('\n', '\r\n')],
  cr: (messages) => [messages.join('').replaceAll('\n', '\r')],
  bom: (messages) => ['\uFEFF', ...messages],
  fields: (messages) => messages.map((message) => `id: 1\nretry: 10\n${message}`),
  comments: between(': OPENROUTER PROCESSING\n\n'),
  news: between('event: news\ndata: {"type":"news"}\n\n'),
  'no-end': (messages) => messages.slice(0, -1),
  'end-twice': (messages, protocol) => [...messages, END[protocol] ?? ''],
  'finish-twice': (messages) =>
    messages.flatMap((text) => (isFinish(text) ? [text, text] : [text])),
  'after-end': (messages) => [...messages, ...messages],
  'no-usage': withUsage(undefined),
  'negative-usage': withUsage({ prompt_tokens: -1, completion_tokens: -1, output_tokens: -1 }),
  'huge-usage': withUsage({
    prompt_tokens: 'huge',
    completion_tokens: 'huge',
    output_tokens: 'huge',
  }),
  'shifted-indices': eachJson((value) =>
    typeof value.index === 'number' ? { ...value, index: value.index + 5 } : value,
  ),
  'no-block-stop': (messages) => messages.filter((text) => !text.includes('content_block_stop')),
  'end-first': (messages, protocol) => [END[protocol] ?? '', ...messages],
  'only-end': (_, protocol) => [END[protocol] ?? ''],
  'only-comments': () => [': one\n\n', ': two\n\n'],
  nulls: (messages) => ['data: null\n\n', ...messages],
  'not-json': (messages) => ['data: {"choices":[{\n\n', ...messages],
  'error-first': () => ['event: error\ndata: {"type":"error","error":{"message":"canary"}}\n\n'],
  'long-line': (messages) => [`data: {"x":"${'x'.repeat(LONG_LINE)}"}\n\n`, ...messages],
  'cut-event': (messages) => [messages.slice(0, 4).join('').slice(0, -9)],
  'cut-character': (messages) => [
    messages.slice(0, 4).join(''),
    Buffer.concat([Buffer.from('data: {"x":"'), Uint8Array.of(0xf0, 0x9f)]),
  ],
  'json-tail': (messages) => [...messages.slice(0, 4), '{"error":{"message":"canary"}}\n\n'],
  'broken-call': beforeFinish(BROKEN_CALL),
  'not-json-later': (messages) => [...messages.slice(0, 4), PAUSE, 'data: {"choices":[{\n\n'],
  'nulls-later': (messages) => [
    ...messages.slice(0, 4),
    PAUSE,
    'data: null\n\n',
    ...messages.slice(4),
  ],
} satisfies Record<string, Oddity>;

export type StreamOddity = keyof typeof STREAM_ODDITIES;
