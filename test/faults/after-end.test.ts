import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { systemClock } from '../../lambdas/support/clock.ts';
import { type Listening, listen } from '../../local/loopback.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { send } from '../support/send.ts';
import { chatWire, messagesWire } from '../support/translate.ts';

const chunk = (content: string, finish_reason: string | null = null) => ({
  choices: [{ index: 0, delta: { content }, finish_reason }],
});
const block = (index: number, text: string) => [
  { type: 'content_block_start', index, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index, delta: { type: 'text_delta', text } },
  { type: 'content_block_stop', index },
];

const CHAT = chatWire([chunk('Hel'), chunk('lo'), chunk('', 'stop')], '');
const STRAY = JSON.stringify(chunk('STRAY'));
const MESSAGES = messagesWire([
  { type: 'message_start', message: { id: 'm', usage: { input_tokens: 7, output_tokens: 1 } } },
  ...block(0, 'Hello'),
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
]);
const STOP = 'event: message_stop\ndata: {"type":"message_stop"';

/** A whole stream and what is behind its end, in one packet: a decoder that reads over an end mark fails in six or seven cells. */
const STREAMS: Record<string, string> = {
  'chat, by events': `${CHAT}data: [DONE]\n\ndata: ${STRAY}\n\n`,
  'chat, by a line of the end': `${CHAT}data: [DONE]\ndata: ${STRAY}\n\n`,
  'chat, on the line of the end': `${CHAT}data: [DONE]${STRAY}\n\n`,
  'chat, by other lines': `${CHAT}data: [DONE]\n\nHTTP/1.1 200 OK\r\nx: STRAY\r\n\r\nSTRAY`,
  'chat, by a broken event': `${CHAT}data: {"STRAY\n\n`,
  'messages, by events': `${MESSAGES}${STOP}}\n\n${messagesWire(block(1, 'STRAY'))}`,
  'messages, by a line of the end': `${MESSAGES}${STOP}}\ndata: STRAY\n\n`,
  'messages, on the line of the end': `${MESSAGES}${STOP}}STRAY\n\n`,
  'messages, by other lines': `${MESSAGES}${STOP}}\n\nHTTP/1.1 200 OK\r\nx: STRAY\r\n\r\nSTRAY`,
};

let provider: Listening;
let fleet: Fleet;
beforeAll(async () => {
  provider = await listen(
    createServer(async (request, response) => {
      const { model } = z.object({ model: z.string() }).parse(await json(request));
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(STREAMS[model]);
    }),
  );
  const models = Object.keys(STREAMS).map((model, index) => {
    const protocol = model.startsWith('chat') ? 'chat' : 'messages';
    return modelOn([targetAt(provider.url, { protocol, model, upstream: `u${index}` })], {
      id: `on/${index}`,
    });
  });
  fleet = await startFleet({ models, clock: systemClock });
});
afterAll(async () => {
  await fleet.close();
  await provider.close();
});

const PATHS = ['/v1/chat/completions', '/v1/messages', '/v1/responses'];
const CELLS = Object.keys(STREAMS).flatMap((wire, index) =>
  PATHS.flatMap((path) => [true, false].map((stream) => [wire, path, stream, index] as const)),
);

test.each(CELLS)(
  'what is behind the end of a stream (%s) reaches no caller of %s (stream: %j)',
  async (_, path, stream, index) => {
    const turns = [{ role: 'user', content: 'hi' }];
    const body = { model: `on/${index}`, stream, max_tokens: 50 };
    const { status, text } = await send(fleet.urls[0] ?? '', path, {
      method: 'POST',
      headers: { 'x-api-key': fleet.key, 'content-type': 'application/json' },
      body: JSON.stringify({
        ...body,
        ...(path.endsWith('responses')
          ? { input: turns, max_tokens: undefined, max_output_tokens: 50 }
          : { messages: turns }),
      }),
    });
    expect([200, 502, 503]).toContain(status);
    expect(text).not.toContain('STRAY');
  },
);
