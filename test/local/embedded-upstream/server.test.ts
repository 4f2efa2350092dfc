import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import type { EmbeddedUpstream } from '../../../local/embedded-upstream/server.ts';
import { startInstantUpstream } from '../../support/instant-upstream.ts';

let upstream: EmbeddedUpstream;
beforeAll(async () => {
  upstream = await startInstantUpstream('secret');
});
afterAll(() => upstream.close());
beforeEach(() => upstream.control.reset());

const HELLO = [{ role: 'user', content: 'hello' }];
const WEATHER = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };

const chat = (body: object, headers: Record<string, string> = { authorization: 'Bearer secret' }) =>
  fetch(`${upstream.baseUrl('chat')}/chat/completions`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ model: 'scribe-1', messages: HELLO, ...body }),
  });

const messages = (
  body: object,
  headers: Record<string, string> = { 'x-api-key': 'secret', 'anthropic-version': '2023-06-01' },
) =>
  fetch(`${upstream.baseUrl('messages')}/v1/messages`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ model: 'swift-2', max_tokens: 100, messages: HELLO, ...body }),
  });

const ChatAnswer = z.object({
  choices: z.tuple([
    z.object({
      finish_reason: z.string(),
      message: z.looseObject({ content: z.string().nullish() }),
    }),
  ]),
});

/** The one choice of a chat answer in one piece. */
const choiceOf = async (response: Promise<Response>) =>
  ChatAnswer.parse(await (await response).json()).choices[0];

const ask = (content: string) => ({ messages: [{ role: 'user', content }] });
const chatTool = { type: 'function', function: { name: 'weather', parameters: WEATHER } };
const messagesTool = { name: 'weather', input_schema: WEATHER };

describe('the embedded upstream on the chat wire', () => {
  test('a chat response contains the upstream model name and counts words as tokens', async () => {
    const answer = await (await chat({})).json();
    expect(answer).toMatchObject({
      id: expect.stringMatching(/^chatcmpl-/),
      model: 'scribe-1',
      choices: [{ message: { content: 'Hello from scribe-1! You said "hello".' } }],
      usage: { prompt_tokens: 1, completion_tokens: 6, total_tokens: 7 },
    });
  });

  test('a chat stream sends word by word and ends with [DONE]', async () => {
    const text = await (await chat({ ...ask('say one two three'), stream: true })).text();
    expect([...text.matchAll(/"content":"([^"]+)"/g)].map(([, word]) => word)).toEqual([
      'one',
      ' two',
      ' three',
    ]);
    expect(text).toMatch(/"finish_reason":"stop".*\n\ndata: \[DONE\]\n\n$/);
  });

  test('a chat prompt calls the tools it names, in parallel, with ids that start with call_', async () => {
    const prompt = 'call weather {"city":"Rome"} call weather {"city":"Oslo"} call unknown {}';
    const choice = await choiceOf(chat({ ...ask(prompt), tools: [chatTool] }));
    expect(choice).toMatchObject({
      finish_reason: 'tool_calls',
      message: {
        tool_calls: [
          { id: expect.stringMatching(/^call_/), function: { arguments: '{"city":"Rome"}' } },
          { id: expect.stringMatching(/^call_/), function: { arguments: '{"city":"Oslo"}' } },
        ],
      },
    });
  });

  test('a required tool is called with arguments that match its schema', async () => {
    const choice = await choiceOf(chat({ tools: [chatTool], tool_choice: 'required' }));
    expect(choice.message).toMatchObject({
      tool_calls: [{ function: { name: 'weather', arguments: '{"city":"text"}' } }],
    });
  });

  test('a chat response quotes tool results', async () => {
    const call = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{}' } };
    const turns = [
      ...HELLO,
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_1', content: 'sunny' },
    ];
    const choice = await choiceOf(chat({ messages: turns, tools: [chatTool] }));
    expect(choice.message.content).toBe('The tool said "sunny".');
  });

  test('a chat response ends at max_tokens and before a stop sequence', async () => {
    const cut = await choiceOf(chat({ ...ask('say a b c d'), max_tokens: 2 }));
    expect(cut).toMatchObject({ finish_reason: 'length', message: { content: 'a b' } });
    const stopped = await choiceOf(chat({ ...ask('say a b c d'), stop: ['c'] }));
    expect(stopped).toMatchObject({
      finish_reason: 'stop',
      message: { content: 'a b ' },
    });
  });

  test('a json_object response format returns JSON', async () => {
    const choice = await choiceOf(chat({ response_format: { type: 'json_object' } }));
    expect(JSON.parse(choice.message.content ?? '')).toEqual({
      answer: 'Hello from scribe-1! You said "hello".',
    });
  });

  test('a chat response acknowledges images', async () => {
    const image_url = { url: 'data:image/png;base64,iVBORw0KGgo=' };
    const turns = [{ role: 'user', content: [{ type: 'image_url', image_url }] }];
    const choice = await choiceOf(chat({ messages: turns }));
    expect(choice.message.content).toContain('I see 1 image(s): image/png.');
  });
});

describe('the embedded upstream on the messages wire', () => {
  test('a messages response starts with thinking when the prompt requests it', async () => {
    const answer = await (await messages(ask('think hmm\nsay yes'))).json();
    expect(answer).toMatchObject({
      id: expect.stringMatching(/^msg_/),
      model: 'swift-2',
      content: [
        { type: 'thinking', thinking: 'hmm', signature: expect.stringMatching(/./) },
        { type: 'text', text: 'yes' },
      ],
      stop_reason: 'end_turn',
      usage: { input_tokens: 4, output_tokens: 2 },
    });
  });

  test('a messages stream contains tool calls with ids that start with toolu_', async () => {
    const prompt = ask('call weather {"city":"Rome"}');
    const response = await messages({ ...prompt, tools: [messagesTool], stream: true });
    const text = await response.text();
    expect(text).toMatch(/"type":"tool_use","id":"toolu_\w+","name":"weather"/);
    expect(text).toContain('"stop_reason":"tool_use"');
    expect(text).toMatch(/event: message_stop\n.*\n\n$/);
  });
});

describe('the embedded upstream as a provider', () => {
  test('a call without the credential gets 401 in the error format of its protocol', async () => {
    const onChat = await chat({}, { 'x-api-key': 'secret' });
    expect([onChat.status, await onChat.json()]).toMatchObject([
      401,
      { error: { type: 'authentication_error' } },
    ]);
    const onMessages = await messages(
      {},
      { 'x-api-key': 'wrong', 'anthropic-version': '2023-06-01' },
    );
    expect([onMessages.status, await onMessages.json()]).toMatchObject([
      401,
      { type: 'error', error: { type: 'authentication_error' } },
    ]);
    expect((await messages({}, { 'x-api-key': 'secret' })).status).toBe(401);
  });

  test('recorded calls contain no credential', async () => {
    await (await chat({ user: 'u-1' })).json();
    expect(upstream.control.calls).toMatchObject([
      { protocol: 'chat', path: '/v1/chat/completions', model: 'scribe-1', body: { user: 'u-1' } },
    ]);
    expect(JSON.stringify(upstream.control.calls)).not.toContain('secret');
  });

  test('a call is recorded as abandoned when its caller disconnects', async () => {
    upstream.control.inject({ fault: { kind: 'stall', after: 1 } });
    const controller = new AbortController();
    await fetch(`${upstream.baseUrl('chat')}/chat/completions`, {
      method: 'POST',
      headers: { authorization: 'Bearer secret' },
      body: JSON.stringify({ model: 'm', messages: HELLO, stream: true }),
      signal: controller.signal,
    });
    expect(upstream.control.calls[0]?.outcome).toBe('open');
    controller.abort();
    await expect.poll(() => upstream.control.calls[0]?.outcome).toBe('abandoned');
  });
});

describe('faults of the embedded upstream', () => {
  const failing = async (response: Promise<Response>) => {
    const { status, headers, text } = await response.then(async (reply) => ({
      status: reply.status,
      headers: reply.headers,
      text: await reply.text(),
    }));
    return { status, retryAfter: headers.get('retry-after'), text };
  };

  test('a status fault returns the status and retry-after', async () => {
    expect(await failing(messages({ model: 'm!status=429:7' }))).toMatchObject({
      status: 429,
      retryAfter: '7',
    });
  });

  test('a reset fault closes the connection before the headers or in mid-stream', async () => {
    await expect(chat({ model: 'm!reset' })).rejects.toThrow('fetch failed');
    const response = await chat({ model: 'm!reset=2', stream: true });
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow();
  });

  test('a truncate fault ends a stream without its finish', async () => {
    const { text } = await failing(chat({ model: 'm!truncate', stream: true }));
    expect(text).toContain('Hello');
    expect(text).not.toContain('"finish_reason":"stop"');
    expect(text).not.toContain('[DONE]');
  });

  test('a truncate fault cuts a whole response in half', async () => {
    const { text } = await failing(chat({ model: 'm!truncate' }));
    expect(text).toMatch(/^\{/);
    expect(() => JSON.parse(text)).toThrow();
  });

  test('the faults malformed, empty, blank and body=html return their responses', async () => {
    expect((await failing(chat({ model: 'm!malformed', stream: true }))).text).toBe(
      'data: {"choices":[{"delta":\n\n',
    );
    expect((await failing(chat({ model: 'm!empty' }))).text).toBe('');
    expect(JSON.parse((await failing(chat({ model: 'm!blank' }))).text)).toMatchObject({
      choices: [{ finish_reason: 'stop' }],
    });
    expect((await failing(chat({ model: 'm!body=html' }))).text).toMatch(/^<!doctype html>/);
  });

  test('an error fault sends the error event of the protocol in mid-stream', async () => {
    const { text } = await failing(messages({ model: 'm!error=3', stream: true }));
    expect(text).toMatch(/event: error\ndata: .*"api_error".*\n\n$/);
  });

  test('a prompt can request a fault', async () => {
    expect((await failing(chat(ask('fault status=503')))).status).toBe(503);
  });

  test('an injected fault applies `times` times, only to its protocol and model', async () => {
    const fault = { kind: 'status', status: 500 } as const;
    upstream.control.inject({ fault, protocol: 'chat', model: 'scribe-1', times: 1 });
    expect((await messages({ model: 'scribe-1' })).status).toBe(200);
    expect((await chat({ model: 'other' })).status).toBe(200);
    expect((await chat({})).status).toBe(500);
    expect((await chat({})).status).toBe(200);
  });

  test('an injected fault with `after` lets that many calls through first', async () => {
    const fault = { kind: 'status', status: 500 } as const;
    upstream.control.inject({ fault, after: 2, times: 1 });
    const statuses = [];
    for (let call = 0; call < 4; call += 1) statuses.push((await chat({})).status);
    expect(statuses).toEqual([200, 200, 500, 200]);
  });
});
