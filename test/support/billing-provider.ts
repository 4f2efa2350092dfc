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
  /** The model that a Gemini says it is. */
  modelVersion?: string;
  /** A provider of chat or Gemini that does not stream. */
  isWhole?: true;
  /** After its text: nothing more, or a lost connection. @default the end of the response */
  ending?: 'stall' | 'reset' | 'reset-before-content' | 'error-before-content';
};

const messageOf = ({ first = {}, usage = {} }: Billing): Event[] => [
  { type: 'message_start', message: { type: 'message', usage: { ...first } } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  {
    ...{ type: 'content_block_delta', index: 0 },
    delta: { type: 'text_delta', text: 'Forty characters of text, word for word.' },
  },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage },
  { type: 'message_stop' },
];

const chunksOf = ({ first, usage, beside }: Billing): Json[] => [
  {
    usage: first,
    choices: [
      {
        index: 0,
        delta: { role: 'assistant', content: 'Forty characters of text, word for word.' },
        finish_reason: null,
      },
    ],
  },
  { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage, ...beside },
];

const geminiOf = ({ first, usage, beside, modelVersion }: Billing): Json[] => {
  const parts = [{ text: 'Forty characters of text, word for word.' }];
  return [
    { candidates: [{ content: { role: 'model', parts } }], usageMetadata: first, modelVersion },
    { candidates: [{ finishReason: 'STOP', ...beside }], usageMetadata: usage },
  ];
};

const responseOf = ({ usage, beside }: Billing): Json[] => {
  const text = 'Forty characters of text, word for word.';
  const part = { type: 'output_text', text, annotations: [] };
  const message = { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed' };
  const at = { item_id: 'msg_1', output_index: 0, content_index: 0 };
  return [
    { type: 'response.created', response: { id: 'resp_1', status: 'in_progress', output: [] } },
    { type: 'response.output_item.added', output_index: 0, item: { ...message, content: [] } },
    { type: 'response.content_part.added', ...at, part: { ...part, text: '' } },
    { type: 'response.output_text.delta', ...at, delta: text },
    { type: 'response.output_text.done', ...at, text },
    { type: 'response.content_part.done', ...at, part },
    { type: 'response.output_item.done', output_index: 0, item: { ...message, content: [part] } },
    {
      type: 'response.completed',
      response: { id: 'resp_1', status: 'completed', usage, ...beside },
    },
  ];
};

/** Events that are sent before a response breaks off. */
const SENT_BEFORE = { stall: 3, reset: 3, 'reset-before-content': 1, 'error-before-content': 1 };

const ERROR: Event = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };

/** A response up to its end, or to where it breaks off. */
const textOf = (path: string, billing: Billing): string => {
  const sent = billing.ending && SENT_BEFORE[billing.ending];
  const last = billing.ending === 'error-before-content' ? [ERROR] : [];
  if (path.includes('/messages'))
    return messagesWire([...messageOf(billing).slice(0, sent), ...last]);
  if (path.includes('/responses')) return chatWire(responseOf(billing), '');
  if (path.includes(':stream'))
    return chatWire(geminiOf(billing).slice(0, sent === undefined ? 2 : 1), '');
  return sent === undefined
    ? chatWire(chunksOf(billing))
    : chatWire(chunksOf(billing).slice(0, 1), '');
};

/** A whole response of chat or Gemini. */
const wholeOf = (path: string, { usage, beside, modelVersion }: Billing): Json => {
  const text = 'Forty characters of text, word for word.';
  const content = { role: 'model', parts: [{ text }] };
  if (path.includes('/models/'))
    return {
      ...{ candidates: [{ content, finishReason: 'STOP', ...beside }], modelVersion },
      usageMetadata: usage,
    };
  const message = { role: 'assistant', content: text };
  return { choices: [{ index: 0, message, finish_reason: 'stop' }], usage, ...beside };
};

const send = (response: ServerResponse, path: string, billing: Billing) => {
  const { ending } = billing;
  if (billing.isWhole) {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(wholeOf(path, billing)));
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
