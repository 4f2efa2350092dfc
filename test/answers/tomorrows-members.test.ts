import { expect, test } from 'vitest';
import { systemClock } from '../../lambdas/support/clock.ts';
import { startFleet } from '../support/fleet.ts';
import { messagesEvent } from '../support/messages-events.ts';
import { startMisbehaving } from '../support/misbehaving-server.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { send } from '../support/send.ts';

/** A value that no reader may round, under a name that no vendor has. */
const NEW = { zz: { a: ['NUMBER'] } };
const written = (json: string) => json.replaceAll('"NUMBER"', '12345678901234567890');
const ZZ = written(JSON.stringify(NEW)).slice(1, -1);

const usage = {
  input_tokens: 5,
  output_tokens: 2,
  cache_creation: { ephemeral_5m_input_tokens: 1, ephemeral_1h_input_tokens: 0, ...NEW },
  server_tool_use: { web_search_requests: 1, web_fetch_requests: 0, ...NEW },
  output_tokens_details: { thinking_tokens: 1, ...NEW },
  ...NEW,
};
const blocks = [
  { type: 'thinking', thinking: 'So.', signature: 's', ...NEW },
  { type: 'text', text: 'Hello', ...NEW },
  { type: 'tool_use', id: 'toolu_1', name: 'read', input: {}, ...NEW },
];
const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm' };
const WHOLE = { ...message, content: blocks, stop_reason: 'tool_use', usage, ...NEW };

const STREAM = [
  messagesEvent('message_start', { message: { ...message, content: [], usage, ...NEW } }),
  messagesEvent('event_of_tomorrow', NEW),
  ...blocks.flatMap((content_block, index) => [
    messagesEvent('content_block_start', { index, content_block }),
    messagesEvent('content_block_delta', { index, delta: { type: 'delta_of_tomorrow', ...NEW } }),
    messagesEvent('content_block_stop', { index }),
  ]),
  messagesEvent('message_delta', { delta: { stop_reason: 'tool_use', ...NEW }, usage, ...NEW }),
  messagesEvent('message_stop', NEW),
].join('');

const timesIn = (text: string): number => text.split(ZZ).length - 1;

const answered = async (type: string, body: string, stream: boolean) => {
  const upstream = await startMisbehaving((response) =>
    response.writeHead(200, { 'content-type': type }).end(written(body)),
  );
  const target = targetAt(upstream.url, { protocol: 'messages' });
  const fleet = await startFleet({ models: [modelOn([target])], clock: systemClock });
  const { status, text } = await send(fleet.urls[0] ?? '', '/v1/messages', {
    ...{ method: 'POST', headers: { 'x-api-key': fleet.key } },
    body: JSON.stringify({
      ...{ model: 'vendor/model', max_tokens: 10, stream },
      messages: [{ role: 'user', content: 'hi' }],
    }),
  });
  await fleet.close();
  expect(status, text).toBe(200);
  return text;
};

/** The members of a message, of its blocks and of its usage, which a stream sends twice. */
const IN_MESSAGE = 1 + blocks.length;
const IN_USAGE = 4;

test('members that no vendor has yet reach a messages caller, of a whole message at every level', async () => {
  const text = await answered('application/json', JSON.stringify(WHOLE), false);
  expect(timesIn(text)).toBe(IN_MESSAGE + IN_USAGE);
});

test('members, deltas and events that no vendor has yet reach a messages caller, of a stream', async () => {
  const text = await answered('text/event-stream', STREAM, true);
  const lines = text.split('\n').filter((line) => line.includes(ZZ));
  const times = (name: string) =>
    lines.filter((line) => line.includes(`"type":"${name}"`)).map(timesIn);
  expect(times('event_of_tomorrow')).toEqual([1]);
  expect(times('content_block_start')).toEqual(blocks.map(() => 1));
  expect(times('delta_of_tomorrow')).toEqual(blocks.map(() => 1));
  expect(times('message_start')).toEqual([1 + IN_USAGE]);
  expect(times('message_delta')).toEqual([2 + IN_USAGE]);
  expect(times('message_stop')).toEqual([1]);
});
