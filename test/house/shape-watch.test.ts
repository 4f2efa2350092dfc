import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { takeBroken } from '../support/shape-watch.ts';
import { chatWire } from '../support/translate.ts';

const LIMITS = { 'x-request-id': 'req_1', 'x-ratelimit-limit-requests': '1' };
const JSON_ANSWER = { ...LIMITS, 'content-type': 'application/json' };
const STREAM = { ...LIMITS, 'content-type': 'text/event-stream' };

const chunk = (delta: object, finish: string | null) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'a/b',
  choices: [{ index: 0, delta, finish_reason: finish }],
});
const ROLE = chunk({ role: 'assistant', content: '' }, null);
const END = chunk({}, 'stop');

/** Number of violations that the watch reports for a response of a server in this process. */
const brokenBy = async (path: string, answer: (response: ServerResponse) => void) => {
  const server = createServer((_request, response) => answer(response)).listen(0, '127.0.0.1');
  onTestFinished(() => {
    server.close();
  });
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  await (await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST' })).text();
  return takeBroken().length;
};

const CHAT = '/v1/chat/completions';
const MESSAGES = '/v1/messages?beta=true';

test.each([
  ['a stream without its role', CHAT, STREAM, 200, chatWire([END])],
  ['a stream without its end mark', CHAT, STREAM, 200, chatWire([ROLE, END], '')],
  ['a stream of the other protocol', MESSAGES, STREAM, 200, chatWire([ROLE, END])],
  ['a whole response of another shape', CHAT, JSON_ANSWER, 200, '{"choices":[]}'],
  ['an error of the other protocol', MESSAGES, JSON_ANSWER, 400, '{"error":{"message":"no"}}'],
])('the shape watch reports %s', async (_, path, headers, status, text) => {
  const broken = await brokenBy(path, (response) => response.writeHead(status, headers).end(text));
  expect(broken).toBe(1);
});

test('a valid stream is not reported, in several writes', async () => {
  const broken = await brokenBy(CHAT, (response) => {
    response.writeHead(200, STREAM);
    for (const part of chatWire([ROLE, END])) response.write(part);
    response.end();
  });
  expect(broken).toBe(0);
});

test('a response without a request id is not checked', async () => {
  const broken = await brokenBy(CHAT, (response) => response.writeHead(400).end('no'));
  expect(broken).toBe(0);
});
