import Anthropic from '@anthropic-ai/sdk';
import Anthropic0 from '@anthropic-ai/sdk-0';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { LocalRouter } from '../../local/start.ts';
import { rejection } from '../support/error-of.ts';
import { startWatched } from '../support/local.ts';

/** One model whose first upstream speaks chat, one whose first speaks messages. */
const MODELS = ['aurora/scribe-1', 'borealis/swift-2'];

const WEATHER = {
  name: 'weather',
  description: 'The weather in a city',
  input_schema: {
    type: 'object' as const,
    properties: { city: { type: 'string' } },
    required: ['city'],
  },
};

let router: LocalRouter;
beforeAll(async () => {
  router = await startWatched();
});
afterAll(() => router.close());

type Client = Anthropic;
const majors: [string, (key: string) => Client][] = [
  ['anthropic 1', (apiKey) => new Anthropic({ baseURL: router.baseUrl, apiKey })],
  // The older major's client has the same shape where these tests use it.
  [
    'anthropic 0',
    (apiKey) => new Anthropic0({ baseURL: router.baseUrl, apiKey }) as unknown as Client,
  ],
];

type SdkError = Error & {
  status: number;
  error: { error: { type: string; message: string } };
  requestID: string;
  headers: Headers;
};

describe.each(majors)('%s', (_, connect) => {
  const say = (content: string) => [{ role: 'user' as const, content }];
  const request = (model: string, content: string) => ({
    model,
    max_tokens: 200,
    messages: say(content),
  });

  test('the Anthropic SDK lists the models and reads one', async () => {
    const client = connect(router.key);
    const ids: string[] = [];
    for await (const model of client.models.list()) ids.push(model.id);
    expect(ids).toEqual(['aurora/scribe-1', 'borealis/swift-2', 'cirrus/vista-3']);
    const model = await client.models.retrieve('borealis/swift-2');
    expect(model).toMatchObject({ type: 'model', display_name: 'Borealis Swift 2' });
  });

  test.each(MODELS)('%s creates a message', async (model) => {
    const { data, response } = await connect(router.key)
      .messages.create(request(model, 'say All is well.'))
      .withResponse();
    expect(data).toMatchObject({
      id: expect.stringMatching(/^msg_/),
      type: 'message',
      role: 'assistant',
      model,
      content: [{ type: 'text', text: 'All is well.' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: expect.any(Number), output_tokens: 3 },
    });
    expect(response.headers.get('request-id')).toMatch(/^req_/);
    expect(response.headers.get('anthropic-ratelimit-requests-limit')).toBe('600');
  });

  test.each(MODELS)('%s streams, and its helper adds the stream up', async (model) => {
    const stream = connect(router.key).messages.stream(request(model, 'say One two three.'));
    let text = '';
    stream.on('text', (delta) => {
      text += delta;
    });
    const message = await stream.finalMessage();
    expect(text).toBe('One two three.');
    expect(message.content).toMatchObject([{ type: 'text', text: 'One two three.' }]);
    expect(message.stop_reason).toBe('end_turn');
    expect(message.usage.input_tokens).toBeGreaterThan(0);
  });

  test.each(MODELS)(
    '%s streams, and its helper rejects a stream that breaks off',
    async (model) => {
      const prompt = 'fault truncate=3\nsay One two three.';
      const stream = connect(router.key).messages.stream(request(model, prompt));
      const error = await rejection<SdkError>(stream.finalMessage());
      expect(error.message).toContain('temporarily unavailable');
    },
  );

  test.each(MODELS)('%s streams its thinking, and takes it back', async (model) => {
    const client = connect(router.key);
    const first = await client.messages
      .stream(request(model, 'think Let me see.\nsay Done.'))
      .finalMessage();
    expect(first.content).toMatchObject([
      { type: 'thinking', thinking: 'Let me see.', signature: expect.stringMatching(/.+/) },
      { type: 'text', text: 'Done.' },
    ]);
    const second = await client.messages.create({
      model,
      max_tokens: 200,
      messages: [
        ...say('think Let me see.\nsay Done.'),
        { role: 'assistant', content: first.content },
        ...say('say Again.'),
      ],
    });
    expect(second.content).toMatchObject([{ type: 'text', text: 'Again.' }]);
  });

  test.each(MODELS)('%s runs a loop of parallel tool calls', async (model) => {
    const client = connect(router.key);
    const prompt = say('call weather {"city":"Paris"} and call weather {"city":"Rome"}');
    const ask = { model, max_tokens: 200, tools: [WEATHER] };
    const first = await client.messages.stream({ ...ask, messages: prompt }).finalMessage();
    expect(first.stop_reason).toBe('tool_use');
    const uses = first.content.filter((block) => block.type === 'tool_use');
    expect(uses.map(({ input }) => input)).toEqual([{ city: 'Paris' }, { city: 'Rome' }]);
    const second = await client.messages.create({
      ...ask,
      messages: [
        ...prompt,
        { role: 'assistant', content: first.content },
        {
          role: 'user',
          content: uses.map(({ id }, i) => ({
            type: 'tool_result' as const,
            tool_use_id: id,
            content: i === 0 ? 'sunny in Paris' : 'rain in Rome',
          })),
        },
      ],
    });
    expect(second.stop_reason).toBe('end_turn');
    expect(JSON.stringify(second.content)).toContain('sunny in Paris');
    expect(JSON.stringify(second.content)).toContain('rain in Rome');
  });

  test.each(MODELS)('%s is driven by the tool runner', async (model) => {
    const asked: unknown[] = [];
    const weather = {
      ...WEATHER,
      type: 'custom' as const,
      parse: (input: unknown) => input,
      run: (input: unknown) => {
        asked.push(input);
        return 'sunny in Paris';
      },
    };
    const answer = await connect(router.key).beta.messages.toolRunner({
      ...request(model, 'call weather {"city":"Paris"}'),
      tools: [weather],
    });
    expect(asked).toEqual([{ city: 'Paris' }]);
    expect(answer.stop_reason).toBe('end_turn');
    expect(JSON.stringify(answer.content)).toContain('sunny in Paris');
  });

  test('bash is called on an upstream that has no such tool, and its output is read', async () => {
    const client = connect(router.key);
    const asked = request('aurora/scribe-1', 'call bash {"command":"ls"}');
    const tools = [{ type: 'bash_20250124' as const, name: 'bash' as const }];
    const answer = await client.messages.create({ ...asked, tools });
    const [call] = answer.content;
    if (call?.type !== 'tool_use') throw new Error('expected a call');
    expect(call).toMatchObject({ name: 'bash', input: { command: 'ls' } });
    expect(answer.stop_reason).toBe('tool_use');
    const second = await client.messages.create({
      ...asked,
      tools,
      messages: [
        ...asked.messages,
        { role: 'assistant', content: answer.content },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: call.id, content: 'a.txt' }],
        },
      ],
    });
    expect(JSON.stringify(second.content)).toContain('a.txt');
  });

  test('the Anthropic SDK counts tokens without spending quota', async () => {
    const client = connect(await router.createKey({ plan: { quota: 0 } }));
    const counted = await client.messages.countTokens({
      model: 'aurora/scribe-1',
      system: 'You are brief.',
      tools: [WEATHER],
      messages: say('How many tokens is this?'),
    });
    expect(counted.input_tokens).toBeGreaterThan(10);
    // The words, and what the model's template writes around a tool.
    expect(counted.input_tokens).toBeLessThan(500);
  });

  test('the Anthropic SDK throws BadRequestError with the list of models for an unknown model', async () => {
    const error = await rejection<SdkError>(
      connect(router.key).messages.create(request('no/such', 'x')),
    );
    expect(error.constructor.name).toBe('BadRequestError');
    expect(error.status).toBe(400);
    expect(error.error.error.type).toBe('invalid_request_error');
    expect(error.error.error.message).toContain('aurora/scribe-1, borealis/swift-2');
    expect(error.requestID).toMatch(/^req_/);
  });

  test('the Anthropic SDK throws AuthenticationError for a wrong key without a retry', async () => {
    const error = await rejection<SdkError>(
      connect('mrk_live_wrong').messages.create(request('m', 'x')),
    );
    expect(error.constructor.name).toBe('AuthenticationError');
    expect(error.error.error.type).toBe('authentication_error');
    expect(error.headers.get('x-should-retry')).toBe('false');
  });

  test('the Anthropic SDK throws an APIError of 402 with the time to retry when the quota is used up', async () => {
    const client = connect(await router.createKey({ plan: { quota: 1, period: 'month' } }));
    await client.messages.create(request('aurora/scribe-1', 'x'));
    const error = await rejection<SdkError>(
      client.messages.create(request('aurora/scribe-1', 'x')),
    );
    expect(error.status).toBe(402);
    expect(error.error.error.type).toBe('insufficient_quota');
    expect(error.error.error.message).toMatch(/\d{4}-\d\d-01T00:00:00Z/);
  });

  test('the Anthropic SDK throws RateLimitError above the requests of a minute', async () => {
    const client = connect(await router.createKey({ plan: { rpm: 1 } }));
    const ask = () =>
      client.messages.create(request('aurora/scribe-1', 'say x'), { maxRetries: 0 });
    // Of three at least two are in the same minute.
    const error = await rejection<SdkError>(Promise.all([ask(), ask(), ask()]));
    expect(error.constructor.name).toBe('RateLimitError');
    expect(error.error.error.type).toBe('rate_limit_error');
    expect(Number(error.headers.get('retry-after'))).toBeLessThanOrEqual(60);
  });
});
