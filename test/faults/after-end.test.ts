import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { CALLER_PROTOCOLS } from '../../lambdas/protocols/protocol-name.ts';
import { systemClock } from '../../lambdas/support/clock.ts';
import { type Listening, listen } from '../../local/loopback.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { conversationOf, PATHS } from '../support/request-forms.ts';
import { send } from '../support/send.ts';
import { CREATED_AT } from '../support/strict-upstream/responses-response.ts';
import { chatWire, messagesWire } from '../support/translate.ts';
import { WIRES } from '../support/wires.ts';

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

const ITEM = {
  ...{ id: 'msg_1', type: 'message', status: 'completed', role: 'assistant' },
  content: [{ type: 'output_text', text: 'Hello', annotations: [] }],
};
const RESPONSE = { id: 'resp_1', object: 'response', created_at: CREATED_AT };
/** Without the ends of its last event. */
const RESPONSES = messagesWire([
  { type: 'response.created', sequence_number: 0, response: { ...RESPONSE, output: [] } },
  {
    ...{ type: 'response.completed', sequence_number: 1 },
    response: { ...RESPONSE, status: 'completed', output: [ITEM] },
  },
]).replace(/\}\}\n\n$/, '');
const GEMINI = `data: ${JSON.stringify({
  candidates: [{ content: { parts: [{ text: 'Hello' }] }, finishReason: 'STOP' }],
})}\n\n`;

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
  'responses, by events': `${RESPONSES}}}\n\nevent: x\ndata: {"type":"response.output_text.delta","delta":"STRAY"}\n\n`,
  'responses, by a line of the end': `${RESPONSES}}}\ndata: STRAY\n\n`,
  'responses, on the line of the end': `${RESPONSES}}}STRAY\n\n`,
  'responses, by other lines': `${RESPONSES}}}\n\nHTTP/1.1 200 OK\r\nx: STRAY\r\n\r\nSTRAY`,
  // Its end is that of the bytes.
  'gemini, by other lines': `${GEMINI}HTTP/1.1 200 OK\r\nx: STRAY\r\n\r\nSTRAY`,
  'messages, by other lines': `${MESSAGES}${STOP}}\n\nHTTP/1.1 200 OK\r\nx: STRAY\r\n\r\nSTRAY`,
};

let provider: Listening;
let fleet: Fleet;
beforeAll(async () => {
  provider = await listen(
    createServer(async (request, response) => {
      const body = z.object({ model: z.string().optional() }).parse(await json(request));
      // In the path of Gemini's protocol.
      const [, named = ''] = /\/models\/([^:]+):/.exec(request.url ?? '') ?? [];
      const [, index = ''] = /^stream-(\d+)$/.exec(body.model ?? named) ?? [];
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(Object.values(STREAMS)[Number(index)]);
    }),
  );
  const models = Object.keys(STREAMS).map((name, index) => {
    const protocol = WIRES.find((wire) => name.startsWith(wire)) ?? 'chat';
    const target = { protocol, model: `stream-${index}`, upstream: `u${index}` };
    return modelOn([targetAt(provider.url, target)], { id: `on/${index}` });
  });
  fleet = await startFleet({ models, clock: systemClock });
});
afterAll(async () => {
  await fleet.close();
  await provider.close();
});

const CELLS = Object.keys(STREAMS).flatMap((wire, index) =>
  CALLER_PROTOCOLS.flatMap((family) =>
    [true, false].map((stream) => [wire, family, stream, index] as const),
  ),
);

test.each(CELLS)(
  'what is behind the end of a stream (%s) reaches no caller of %s (stream: %j)',
  async (_, family, stream, index) => {
    const turns = [{ role: 'user', content: 'hi' }];
    const { status, text } = await send(fleet.urls[0] ?? '', PATHS[family], {
      method: 'POST',
      headers: { 'x-api-key': fleet.key, 'content-type': 'application/json' },
      body: JSON.stringify({
        ...{ model: `on/${index}`, stream },
        ...conversationOf(family, turns),
      }),
    });
    expect([200, 502, 503]).toContain(status);
    expect(text).not.toContain('STRAY');
  },
);
