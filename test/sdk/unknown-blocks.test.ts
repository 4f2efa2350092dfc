import { createServer } from 'node:http';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import Anthropic from '@anthropic-ai/sdk';
import { streamText } from 'ai';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../lambdas/support/clock.ts';
import { type Listening, listen } from '../../local/loopback.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { CANARIES } from '../support/leak-watch.ts';
import { modelOf } from '../support/models.ts';

const USAGE = { input_tokens: 3, output_tokens: 5 };
const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'large',
  content: [],
  stop_reason: null,
  stop_sequence: null,
  usage: USAGE,
};
/** A kind of block that the vendor may add tomorrow. */
const FUTURE = { type: 'future_block', title: 'seen', parts: [] };

const EVENTS = [
  { type: 'message_start', message: MESSAGE },
  { type: 'content_block_start', index: 0, content_block: FUTURE },
  { type: 'content_block_delta', index: 0, delta: { type: 'future_delta', part: 1 } },
  { type: 'content_block_stop', index: 0 },
  { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'Hello' } },
  { type: 'content_block_stop', index: 1 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: USAGE },
  { type: 'message_stop' },
];

/** Chat vendors add fields and kinds of parts; a kind of tool call is the nearest to a block. */
const CHUNKS = [
  { choices: [{ index: 0, delta: { role: 'assistant', future: [{ type: 'future' }] } }] },
  { choices: [{ index: 0, delta: { content: 'Hello' } }] },
  { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
];

const textOf = (path: string): string =>
  path.endsWith('/chat/completions')
    ? `${CHUNKS.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')}data: [DONE]\n\n`
    : EVENTS.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');

let upstream: Listening;
let fleet: Fleet;
beforeAll(async () => {
  upstream = await listen(
    createServer((request, response) => {
      request.resume().once('end', () => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.end(textOf(request.url ?? ''));
      });
    }),
  );
  const models = (['chat', 'messages'] as const).map((protocol) =>
    modelOf(protocol, upstream.url, { id: `on/${protocol}` }),
  );
  fleet = await startFleet({ models, clock: systemClock, secret: CANARIES.upstreamKey });
});
afterAll(async () => {
  await fleet.close();
  await upstream.close();
});

const connection = () => ({ baseURL: `${fleet.urls[0]}/v1`, apiKey: fleet.key, maxRetries: 0 });
const openai = () => new OpenAI(connection());
const anthropic = () => new Anthropic({ ...connection(), baseURL: fleet.urls[0] ?? '' });
const MODELS = ['on/chat', 'on/messages'];
const messages = [{ role: 'user' as const, content: 'hi' }];

test.each(MODELS)(
  'a block of an unknown kind from %s does not reach a chat caller',
  async (model) => {
    const whole = await openai().chat.completions.create({ model, messages });
    expect(whole.choices[0]?.message.content).toBe('Hello');
    expect(JSON.stringify(whole)).not.toContain('future_block');
    let text = '';
    const stream = await openai().chat.completions.create({ model, messages, stream: true });
    for await (const { choices } of stream) text += choices[0]?.delta.content ?? '';
    expect(text).toBe('Hello');
  },
);

test('a block of an unknown kind reaches a caller of its own protocol, whole and streamed', async () => {
  const model = 'on/messages';
  const whole = await anthropic().messages.create({ model, messages, max_tokens: 100 });
  expect(whole.content).toMatchObject([FUTURE, { type: 'text', text: 'Hello' }]);
  const streamed = anthropic().messages.stream({ model, messages, max_tokens: 100 });
  const kinds: string[] = [];
  streamed.on('streamEvent', (event) => {
    if (event.type === 'content_block_start') kinds.push(event.content_block.type);
  });
  expect((await streamed.finalMessage()).content).toMatchObject([
    FUTURE,
    { type: 'text', text: 'Hello' },
  ]);
  expect(kinds).toEqual([FUTURE.type, 'text']);
});

test.each(MODELS)(
  'the AI SDK, which validates, reads all text of %s next to a block of an unknown kind',
  async (model) => {
    for (const provider of [createOpenAI(connection()).chat, createAnthropic(connection())]) {
      const errors: unknown[] = [];
      const { textStream } = streamText({
        model: provider(model),
        prompt: 'hi',
        maxRetries: 0,
        onError: ({ error }) => void errors.push(error),
      });
      let text = '';
      for await (const part of textStream) text += part;
      expect(text).toBe('Hello');
      // Within one protocol it reports the kinds that it does not know, as it does at the vendor.
      const names = errors.map((error) => (error instanceof Error ? error.name : ''));
      const isCarried = model === 'on/messages' && 'tools' in provider;
      expect(new Set(names)).toEqual(new Set(isCarried ? ['AI_TypeValidationError'] : []));
    }
  },
);
