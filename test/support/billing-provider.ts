import { createServer, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { listen } from '../../local/loopback.ts';
import { chatWire, messagesWire } from './translate.ts';

type Json = Record<string, unknown>;
type Event = Parameters<typeof messagesWire>[0][number];

/** What a provider bills for one request, in its own words; how its response ends. */
export type Billing = {
  /** Of `message_start`, or of the first chunk. */
  first?: Json;
  usage?: Json;
  /** Members of a response of chat or Responses beside its usage; of the candidate of a Gemini. */
  beside?: Json;
  /** Blocks of a message, or items of Responses, that end before the text. */
  before?: Json[];
  /** Members of the first chunk beside its usage; of its candidate, of a Gemini. */
  besideFirst?: Json;
  /** Counts of a chunk of chat, or of a message, between the text and the end. */
  running?: Json;
  /** Ping before the start of a message. */
  pings?: true;
  /** The model that a Gemini says it is. */
  modelVersion?: string;
  /** A provider of chat or Gemini that does not stream. */
  isWhole?: true;
  /** What a provider that does not stream sends instead. */
  body?: Json;
  /** After its text: nothing more, or a lost connection. @default the end of the response */
  ending?: 'stall' | 'reset' | 'reset-before-content' | 'error-before-content';
};

/** A stream up to its text, the text, and what follows. */
type Stream<Message> = [start: Message[], text: Message[], end: Message[]];

const TEXT = 'Forty characters of text, word for word.';

const blockOf = (content_block: Json, index: number): Event[] => [
  { type: 'content_block_start', index, content_block },
  { type: 'content_block_stop', index },
];

const messageOf = ({ first, usage = {}, running, before = [], pings }: Billing): Stream<Event> => {
  const { length: index } = before;
  return [
    [
      ...(pings ? [{ type: 'ping' }] : []),
      { type: 'message_start', message: { type: 'message', usage: { ...first } } },
      ...before.flatMap(blockOf),
    ],
    [
      { type: 'content_block_start', index, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index, delta: { type: 'text_delta', text: TEXT } },
      ...(running ? [{ type: 'message_delta', delta: {}, usage: running }] : []),
    ],
    [
      { type: 'content_block_stop', index },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage },
      { type: 'message_stop' },
    ],
  ];
};

const chunksOf = ({ first, besideFirst, running, usage, beside }: Billing): Stream<Json> => {
  const delta = { role: 'assistant', content: TEXT };
  const choices = [{ index: 0, delta, finish_reason: null }];
  const more = [{ index: 0, delta: {}, finish_reason: null }];
  return [
    [],
    [
      { usage: first, choices, ...besideFirst },
      ...(running ? [{ usage: running, choices: more }] : []),
    ],
    [{ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage, ...beside }],
  ];
};

const geminiOf = (billing: Billing): Stream<Json> => {
  const { first, besideFirst, usage, beside, modelVersion } = billing;
  const content = { role: 'model', parts: [{ text: TEXT }] };
  return [
    [],
    [{ candidates: [{ content, ...besideFirst }], usageMetadata: first, modelVersion }],
    [{ candidates: [{ finishReason: 'STOP', ...beside }], usageMetadata: usage }],
  ];
};

const responseOf = ({ usage, before = [], besideFirst, beside }: Billing): Stream<Json> => {
  const part = { type: 'output_text', text: TEXT, annotations: [] };
  const message = { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed' };
  const { length: output_index } = before;
  const at = { item_id: 'msg_1', output_index, content_index: 0 };
  const response = { id: 'resp_1', status: 'in_progress', output: [], ...besideFirst };
  return [
    [
      { type: 'response.created', response },
      ...before.flatMap((item, index) => [
        { type: 'response.output_item.added', output_index: index, item },
        { type: 'response.output_item.done', output_index: index, item },
      ]),
    ],
    [
      { type: 'response.output_item.added', output_index, item: { ...message, content: [] } },
      { type: 'response.content_part.added', ...at, part: { ...part, text: '' } },
      { type: 'response.output_text.delta', ...at, delta: TEXT },
    ],
    [
      { type: 'response.output_text.done', ...at, text: TEXT },
      { type: 'response.content_part.done', ...at, part },
      { type: 'response.output_item.done', output_index, item: { ...message, content: [part] } },
      {
        type: 'response.completed',
        response: { id: 'resp_1', status: 'completed', usage, ...beside },
      },
    ],
  ];
};

const ERROR: Event = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };

/** What is sent of a stream, up to its end or to where it breaks off. */
const sentOf = <Message>([start, text, end]: Stream<Message>, { ending }: Billing): Message[] => {
  if (ending === undefined) return [...start, ...text, ...end];
  return ending.endsWith('before-content') ? start : [...start, ...text];
};

const textOf = (path: string, billing: Billing): string => {
  const { ending } = billing;
  if (path.includes('/messages'))
    return messagesWire([
      ...sentOf(messageOf(billing), billing),
      ...(ending === 'error-before-content' ? [ERROR] : []),
    ]);
  if (path.includes('/responses')) return chatWire(sentOf(responseOf(billing), billing), '');
  if (path.includes(':stream')) return chatWire(sentOf(geminiOf(billing), billing), '');
  const chunks = sentOf(chunksOf(billing), billing);
  return ending === undefined ? chatWire(chunks) : chatWire(chunks, '');
};

/** A whole response of chat or Gemini. */
const wholeOf = (path: string, { usage, beside, modelVersion }: Billing): Json => {
  const content = { role: 'model', parts: [{ text: TEXT }] };
  if (path.includes('/models/'))
    return {
      ...{ candidates: [{ content, finishReason: 'STOP', ...beside }], modelVersion },
      usageMetadata: usage,
    };
  const message = { role: 'assistant', content: TEXT };
  return { choices: [{ index: 0, message, finish_reason: 'stop' }], usage, ...beside };
};

const send = (response: ServerResponse, path: string, billing: Billing) => {
  const { ending, isWhole, body } = billing;
  if (isWhole || body) {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body ?? wholeOf(path, billing)));
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(textOf(path, billing));
  if (ending === undefined) response.end();
  else if (ending !== 'stall') setImmediate(() => response.destroy());
};

/** The model of a request: of Gemini it is in the path. */
const modelIn = (path: string, body: Buffer): string =>
  /\/models\/([^:]+):/.exec(path)?.[1] ?? JSON.parse(body.toString()).model;

/** A provider of all protocols that bills each of its models as `billings` says, and counts how often it was asked. */
export const startBillingProvider = async (billings: Record<string, Billing>) => {
  const asked: string[] = [];
  const server = createServer(async (request, response) => {
    const { url: path = '' } = request;
    const model = modelIn(path, await buffer(request));
    asked.push(model);
    send(response, path, billings[model] ?? {});
  });
  const { url, close } = await listen(server);
  return { url, asked, close };
};
