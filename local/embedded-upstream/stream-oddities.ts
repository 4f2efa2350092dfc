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
  responses: ['response.output_item.added', 'response.output_item.done']
    .map((type) => ({
      ...{ type, output_index: 9 },
      item: { type: 'function_call', id: 'fc_9', call_id: 'call_9', name: 'f', arguments: '{"a":' },
    }))
    .map(event)
    .join(''),
  gemini: `data: ${JSON.stringify({
    candidates: [{ content: { parts: [{ functionCall: { name: 'f', args: '{"a":' } }] } }],
  })}\n\n`,
};

const FINISH = /"finish_reason":"|"message_delta"|"response\.completed"|"finishReason"/;
const isFinish = (message: string): boolean => FINISH.test(message);

/** The messages of a stream up to its first words; a protocol has its own number of them before those. */
const begun = (messages: string[], protocol: string): string[] =>
  messages.slice(0, protocol === 'responses' ? 6 : 4);

const beforeFinish =
  (inserted: Record<string, string>): Oddity =>
  (messages, protocol) =>
    messages.flatMap((message) =>
      isFinish(message) ? [PAUSE, inserted[protocol] ?? '', message] : [message],
    );

/** Replaces the counts of an event, or of what it holds, by `count`, or removes them. */
const replaceUsage = (value: Json, count: unknown): Json =>
  Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      if (typeof member !== 'object' || member === null) return [name, member];
      const holds = name === 'message' || name === 'response';
      if (holds) return [name, replaceUsage({ ...member }, count)];
      if (name !== 'usage' && name !== 'usageMetadata') return [name, member];
      const counts = Object.entries(member).map(([of, own]) => [
        of,
        Number(own) >= 0 ? count : own,
      ]);
      return [name, count === undefined ? undefined : Object.fromEntries(counts)];
    }),
  );

const withCounts = (count: unknown) => eachJson((value) => replaceUsage(value, count));

const INDICES = ['index', 'output_index'];
const BLOCK_END = /content_block_stop|output_text\.done|content_part\.done|output_item\.done/;

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
  'end-twice': (messages) => [...messages, ...messages.slice(-1)],
  'finish-twice': (messages) =>
    messages.flatMap((text) => (isFinish(text) ? [text, text] : [text])),
  'after-end': (messages) => [...messages, ...messages],
  'no-usage': withCounts(undefined),
  'negative-usage': withCounts(-1),
  'huge-usage': withCounts('huge'),
  'shifted-indices': eachJson((value) =>
    Object.fromEntries(
      Object.entries(value).map(([name, index]) => [
        name,
        INDICES.includes(name) ? Number(index) + 5 : index,
      ]),
    ),
  ),
  'no-block-stop': (messages) => messages.filter((text) => !BLOCK_END.test(text)),
  'end-first': (messages) => [...messages.slice(-1), ...messages],
  'only-end': (messages) => messages.slice(-1),
  'only-comments': () => [': one\n\n', ': two\n\n'],
  nulls: (messages) => ['data: null\n\n', ...messages],
  'not-json': (messages) => ['data: {"choices":[{\n\n', ...messages],
  'error-first': () => ['event: error\ndata: {"type":"error","error":{"message":"canary"}}\n\n'],
  'long-line': (messages) => [`data: {"x":"${'x'.repeat(LONG_LINE)}"}\n\n`, ...messages],
  'cut-event': (messages, protocol) => [begun(messages, protocol).join('').slice(0, -9)],
  'cut-character': (messages, protocol) => [
    ...begun(messages, protocol),
    Buffer.concat([Buffer.from('data: {"x":"'), Uint8Array.of(0xf0, 0x9f)]),
  ],
  'json-tail': (messages, protocol) => [
    ...begun(messages, protocol),
    '{"error":{"message":"canary"}}\n\n',
  ],
  'broken-call': beforeFinish(BROKEN_CALL),
  'not-json-later': (messages, protocol) => [
    ...begun(messages, protocol),
    ...[PAUSE, 'data: {"choices":[{\n\n'],
  ],
  'nulls-later': (messages, protocol) => {
    const first = begun(messages, protocol);
    return [...first, PAUSE, 'data: null\n\n', ...messages.slice(first.length)];
  },
} satisfies Record<string, Oddity>;

export type StreamOddity = keyof typeof STREAM_ODDITIES;
