/**
 * The provider of the bench, as a process: its chat responses have as many texts as the model's name asks for. It is
 * written on sockets, with bytes made once, so that no gateway waits for it.
 */
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const EVENTS_PER_WRITE = 16;

const BASE = { id: 'chatcmpl-1', created: 1, model: 'bench' };

/** Tokens of a prompt, unless the model's name has them: then all but a few were read from a cache. */
const PROMPT = 100;
const FRESH = 50;

const usageOf = (prompt: number) => ({
  ...{ prompt_tokens: prompt, completion_tokens: 20, total_tokens: prompt + 20 },
  ...(prompt !== PROMPT && { prompt_tokens_details: { cached_tokens: prompt - FRESH } }),
});

const countsOf = (prompt: number) =>
  prompt === PROMPT
    ? { input_tokens: prompt, output_tokens: 20 }
    : { input_tokens: FRESH, cache_read_input_tokens: prompt - FRESH, output_tokens: 20 };

const eventOf = (rest: object) =>
  `data: ${JSON.stringify({ ...BASE, object: 'chat.completion.chunk', ...rest })}\n\n`;
const chunkOf = (delta: object, finish: string | null = null) =>
  eventOf({ choices: [{ index: 0, delta, finish_reason: finish }] });

const textsOf = (events: number) => Array.from({ length: events }, (_, index) => ` word${index}`);

/** The messages of a stream of `events` texts. */
const streamOf = (events: number, prompt: number): string[] => [
  chunkOf({ role: 'assistant', content: '' }),
  ...textsOf(events).map((content) => chunkOf({ content })),
  chunkOf({}, 'stop'),
  eventOf({ choices: [], usage: usageOf(prompt) }),
  'data: [DONE]\n\n',
];

const messagesEventOf = (type: string, fields: object) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;

/** The same in the messages protocol. */
const messagesOf = (events: number, prompt: number): string[] => {
  const usage = countsOf(prompt);
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'bench', content: [] };
  return [
    messagesEventOf('message_start', { message: { ...message, usage } }),
    messagesEventOf('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    ...textsOf(events).map((text) =>
      messagesEventOf('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
    ),
    messagesEventOf('content_block_stop', { index: 0 }),
    messagesEventOf('message_delta', { delta: { stop_reason: 'end_turn' }, usage }),
    messagesEventOf('message_stop', {}),
  ];
};

const PART = { type: 'output_text', annotations: [], logprobs: [] };
const PLACE = { item_id: 'msg_1', output_index: 0, content_index: 0 };

/** The same in the Responses protocol. */
const responsesOf = (events: number, prompt: number): string[] => {
  const response = { id: 'resp_1', object: 'response', created_at: 1, model: 'bench' };
  const text = textsOf(events).join('');
  const item = { id: 'msg_1', type: 'message', role: 'assistant' };
  const whole = { ...item, status: 'completed', content: [{ ...PART, text }] };
  const begun = { ...response, status: 'in_progress', output: [] };
  const input_tokens_details = { cached_tokens: prompt === PROMPT ? 0 : prompt - FRESH };
  const output_tokens_details = { reasoning_tokens: 0 };
  const usage = {
    ...{ input_tokens: prompt, input_tokens_details, output_tokens: 20, output_tokens_details },
    total_tokens: prompt + 20,
  };
  const sent: [string, object][] = [
    ['created', { response: begun }],
    ['in_progress', { response: begun }],
    ['output_item.added', { output_index: 0, item: { ...item, content: [] } }],
    ['content_part.added', { ...PLACE, part: { ...PART, text: '' } }],
    ...textsOf(events).map((delta): [string, object] => [
      'output_text.delta',
      { ...PLACE, delta, logprobs: [] },
    ]),
    ['output_text.done', { ...PLACE, text, logprobs: [] }],
    ['content_part.done', { ...PLACE, part: { ...PART, text } }],
    ['output_item.done', { output_index: 0, item: whole }],
    ['completed', { response: { ...response, status: 'completed', output: [whole], usage } }],
  ];
  return sent.map(([name, fields], sequence_number) =>
    messagesEventOf(`response.${name}`, { sequence_number, ...fields }),
  );
};

/** The same in Gemini's protocol. */
const geminiOf = (events: number, prompt: number): string[] => {
  const piece = (parts: object[], more: object, rest: object = {}) =>
    `data: ${JSON.stringify({
      candidates: [{ content: { parts, role: 'model' }, ...more, index: 0 }],
      ...rest,
      ...{ modelVersion: 'bench', responseId: 'r' },
    })}\n\n`;
  const usageMetadata = {
    ...{ promptTokenCount: prompt, candidatesTokenCount: 20, totalTokenCount: prompt + 20 },
    ...(prompt !== PROMPT && { cachedContentTokenCount: prompt - FRESH }),
  };
  return [
    ...textsOf(events).map((text) => piece([{ text }], {})),
    piece([], { finishReason: 'STOP' }, { usageMetadata }),
  ];
};

const headOf = (fields: string) => `HTTP/1.1 200 OK\r\n${fields}\r\nconnection: keep-alive\r\n\r\n`;
const STREAM_HEAD = headOf('content-type: text/event-stream\r\ntransfer-encoding: chunked');
const LAST_CHUNK = '0\r\n\r\n';

/** The writes of a stream. Each message is an HTTP chunk, as providers flush each token; `perWrite` of them share a write. */
const writesOf = (stream: string[], perWrite: number): Buffer[] => {
  const chunks = stream.map((text) => `${text.length.toString(16)}\r\n${text}\r\n`);
  const writes: string[] = [];
  for (let from = 0; from < chunks.length; from += perWrite) {
    writes.push(chunks.slice(from, from + perWrite).join(''));
  }
  return [STREAM_HEAD + writes.shift(), ...writes, LAST_CHUNK].map((text) => Buffer.from(text));
};

/** The same texts as a whole response. */
const wholeOf = (events: number, prompt: number): Buffer => {
  const message = { role: 'assistant', content: textsOf(events).join('') };
  const choices = [{ index: 0, message, finish_reason: 'stop' }];
  const body = JSON.stringify({
    ...BASE,
    object: 'chat.completion',
    choices,
    usage: usageOf(prompt),
  });
  const fields = `content-type: application/json\r\ncontent-length: ${body.length}`;
  return Buffer.from(headOf(fields) + body);
};

/** Makes the response of a shape once. */
const once = <Result>(make: (events: number, prompt: number) => Result) => {
  const known = new Map<string, Result>();
  return (events: number, prompt: number): Result => {
    const shape = `${events} ${prompt}`;
    const result = known.get(shape) ?? make(events, prompt);
    known.set(shape, result);
    return result;
  };
};
const streamsOf = (make: (events: number, prompt: number) => string[]) => ({
  known: once((...shape) => writesOf(make(...shape), EVENTS_PER_WRITE)),
  paced: once((...shape) => writesOf(make(...shape), 1)),
});
const CHAT = streamsOf(streamOf);
const STREAMS: Record<string, typeof CHAT> = {
  '/messages': streamsOf(messagesOf),
  '/responses': streamsOf(responsesOf),
  '/gemini': streamsOf(geminiOf),
};
const knownWhole = once(wholeOf);

const SHAPE = /^"bench\/(\d+)(?:\/(\d+))?(\/[a-z]+)?(?:\/of\/(\d+))?"/;
/** Gemini's model is in the path, as is whether its response is streamed. */
const GEMINI = /^POST \/models\/(\S+?):stream\S+/;

/** The model between quotation marks. */
const modelIn = (request: Buffer): string => {
  const [, model] = GEMINI.exec(request.toString('latin1', 0, 200)) ?? [];
  if (model !== undefined) return `"${decodeURIComponent(model)}"`;
  const named = request.indexOf('"bench/');
  return request.toString('latin1', named, named + 40);
};

const answer = async (socket: Socket, request: Buffer) => {
  const [, events = '1', pause, to = '', tokens = PROMPT] = SHAPE.exec(modelIn(request)) ?? [];
  const { known, paced } = STREAMS[to] ?? CHAT;
  const shape = [Number(events), Number(tokens)] as const;
  if (!request.includes('"stream":true') && !GEMINI.test(request.toString('latin1', 0, 200))) {
    socket.write(knownWhole(...shape));
  } else if (pause === undefined) {
    for (const bytes of known(...shape)) socket.write(bytes);
  } else {
    for (const bytes of paced(...shape)) {
      socket.write(bytes);
      await delay(Number(pause));
    }
  }
};

const HEAD_END = '\r\n\r\n';

/** Bytes of a request whose head has arrived; undefined for a chunked one before its end. */
const sizeOf = (received: Buffer, headSize: number): number | undefined => {
  const length = /\r\ncontent-length: *(\d+)/i.exec(received.toString('latin1', 0, headSize))?.[1];
  if (length !== undefined) return headSize + Number(length);
  return received.subarray(-LAST_CHUNK.length).equals(Buffer.from(LAST_CHUNK))
    ? received.length
    : undefined;
};

const server = createServer({ noDelay: true }, (socket) => {
  let pieces: Buffer[] = [];
  let received = 0;
  let expected: number | undefined;
  socket.on('data', (piece) => {
    pieces.push(piece);
    received += piece.length;
    if (expected !== undefined && received < expected) return;
    const request = Buffer.concat(pieces, received);
    pieces = [request];
    const headEnd = request.indexOf(HEAD_END);
    if (headEnd === -1) return;
    expected ??= sizeOf(request, headEnd + HEAD_END.length);
    if (expected === undefined || received < expected) return;
    [pieces, received, expected] = [[], 0, undefined];
    answer(socket, request);
  });
  // Gateways close idle connections.
  socket.on('error', () => socket.destroy());
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.send?.({ url: `http://127.0.0.1:${port}` });
});
