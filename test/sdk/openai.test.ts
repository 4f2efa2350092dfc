import OpenAI from 'openai';
import OpenAI5 from 'openai-5';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { LocalRouter } from '../../local/start.ts';
import { rejection } from '../support/error-of.ts';
import { startWatched } from '../support/local.ts';

/** One model whose first upstream speaks chat, one whose first speaks messages. */
const MODELS = ['aurora/scribe-1', 'borealis/swift-2'];

const WEATHER = {
  type: 'function',
  function: {
    name: 'weather',
    description: 'The weather in a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
} as const;

let router: LocalRouter;
beforeAll(async () => {
  router = await startWatched();
});
afterAll(() => router.close());

type Client = OpenAI;
const majors: [string, (key: string) => Client][] = [
  ['openai 7', (apiKey) => new OpenAI({ baseURL: `${router.baseUrl}/v1`, apiKey })],
  // The older major's client has the same shape where these tests use it.
  [
    'openai 5',
    (apiKey) => new OpenAI5({ baseURL: `${router.baseUrl}/v1`, apiKey }) as unknown as Client,
  ],
];

type SdkError = Error & {
  status: number;
  type: string;
  code: string;
  requestID: string;
  headers: Headers;
};

describe.each(majors)('%s', (_, connect) => {
  const say = (content: string) => [{ role: 'user' as const, content }];

  test('the OpenAI SDK lists the models and reads one', async () => {
    const client = connect(router.key);
    const ids: string[] = [];
    for await (const model of client.models.list()) ids.push(model.id);
    expect(ids).toEqual(['aurora/scribe-1', 'borealis/swift-2', 'cirrus/vista-3']);
    const model = await client.models.retrieve('cirrus/vista-3');
    expect(model).toMatchObject({ id: 'cirrus/vista-3', object: 'model', vision: true });
  });

  test.each(MODELS)('%s creates a completion', async (model) => {
    const { data, response } = await connect(router.key)
      .chat.completions.create({ model, messages: say('say All is well.') })
      .withResponse();
    expect(data).toMatchObject({
      id: expect.stringMatching(/^chatcmpl-/),
      object: 'chat.completion',
      model,
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'All is well.' },
          finish_reason: 'stop',
        },
      ],
    });
    const usage = data.usage;
    expect(usage?.total_tokens).toBe((usage?.prompt_tokens ?? 0) + (usage?.completion_tokens ?? 0));
    expect(usage?.completion_tokens).toBeGreaterThan(0);
    expect(response.headers.get('x-request-id')).toMatch(/^req_/);
  });

  test.each(MODELS)('%s streams, and its helper adds the stream up', async (model) => {
    const stream = connect(router.key).chat.completions.stream({
      model,
      messages: say('say One two three.'),
      stream_options: { include_usage: true },
    });
    let text = '';
    stream.on('content', (delta) => {
      text += delta;
    });
    const completion = await stream.finalChatCompletion();
    expect(text).toBe('One two three.');
    expect(completion.choices[0]?.message.content).toBe('One two three.');
    expect(completion.choices[0]?.finish_reason).toBe('stop');
    expect(completion.usage?.completion_tokens).toBeGreaterThan(0);
  });

  test.each(MODELS)('%s streams its usage where the request asks for it', async (model) => {
    const chunksOf = async (options: object) => {
      const chunks: OpenAI.ChatCompletionChunk[] = [];
      const asked = { model, messages: say('say One two.'), stream: true as const, ...options };
      const stream = await connect(router.key).chat.completions.create(asked);
      for await (const chunk of stream) chunks.push(chunk);
      return chunks;
    };
    const withUsage = (chunks: OpenAI.ChatCompletionChunk[]) =>
      chunks.flatMap((chunk, index) => (chunk.usage ? [index - chunks.length] : []));

    const unstated = await chunksOf({});
    expect(withUsage(unstated)).toEqual([-1]);
    expect(unstated.at(-1)).toMatchObject({
      choices: [{ finish_reason: 'stop' }],
      usage: { completion_tokens: 2, prompt_tokens: expect.any(Number) },
    });
    const asked = await chunksOf({ stream_options: { include_usage: true } });
    expect(withUsage(asked)).toEqual([-1]);
    expect(asked.at(-1)).toMatchObject({ choices: [], usage: unstated.at(-1)?.usage });
    expect(asked.at(-2)).toMatchObject({ choices: [{ finish_reason: 'stop' }], usage: null });
    const declined = await chunksOf({ stream_options: { include_usage: false } });
    expect(declined.at(-1)).toMatchObject({ choices: [{ finish_reason: 'stop' }] });
    expect(withUsage(declined)).toEqual([]);
  });

  test.each(MODELS)(
    '%s streams, and its helper rejects a stream that breaks off',
    async (model) => {
      const stream = connect(router.key).chat.completions.stream({
        model,
        messages: say('fault truncate=3\nsay One two three.'),
      });
      const error = await rejection<SdkError>(stream.finalChatCompletion());
      expect(error.message).toContain('temporarily unavailable');
    },
  );

  test.each(MODELS)('%s shows its reasoning, and takes it back', async (model) => {
    const client = connect(router.key);
    const prompt = say('think Let me see.\nsay Done.');
    const first = await client.chat.completions.create({ model, messages: prompt });
    const [choice] = first.choices;
    expect(choice?.message).toMatchObject({ reasoning_content: 'Let me see.', content: 'Done.' });
    const stream = await client.chat.completions.create({ model, messages: prompt, stream: true });
    let reasoning = '';
    for await (const { choices } of stream) {
      const delta: object = choices[0]?.delta ?? {};
      if ('reasoning_content' in delta) reasoning += delta.reasoning_content;
    }
    expect(reasoning).toBe('Let me see.');
    const answer = choice ? [choice.message] : [];
    const second = await client.chat.completions.create({
      model,
      messages: [...prompt, ...answer, ...say('say Again.')],
    });
    expect(second.choices[0]?.message.content).toBe('Again.');
  });

  test.each(MODELS)('%s runs a loop of parallel tool calls', async (model) => {
    const client = connect(router.key);
    const prompt = say('call weather {"city":"Paris"} and call weather {"city":"Rome"}');
    const stream = client.chat.completions.stream({ model, messages: prompt, tools: [WEATHER] });
    const first = await stream.finalChatCompletion();
    const [choice] = first.choices;
    expect(choice?.finish_reason).toBe('tool_calls');
    const calls = choice?.message.tool_calls ?? [];
    const cities = calls.map(
      (call) => call.type === 'function' && JSON.parse(call.function.arguments),
    );
    expect(cities).toEqual([{ city: 'Paris' }, { city: 'Rome' }]);
    const second = await client.chat.completions.create({
      model,
      tools: [WEATHER],
      messages: [
        ...prompt,
        { role: 'assistant', content: choice?.message.content ?? null, tool_calls: calls },
        ...calls.map((call, i) => ({
          role: 'tool' as const,
          tool_call_id: call.id,
          content: i === 0 ? 'sunny in Paris' : 'rain in Rome',
        })),
      ],
    });
    expect(second.choices[0]?.finish_reason).toBe('stop');
    expect(second.choices[0]?.message.content).toContain('sunny in Paris');
    expect(second.choices[0]?.message.content).toContain('rain in Rome');
  });

  test.each(MODELS)('%s is driven by the tool runner', async (model) => {
    const asked: unknown[] = [];
    const weather = {
      ...WEATHER.function,
      parameters: { ...WEATHER.function.parameters, required: ['city'] },
      parse: JSON.parse,
      function: (input: unknown) => {
        asked.push(input);
        return 'sunny in Paris';
      },
    };
    const runner = connect(router.key).chat.completions.runTools({
      model,
      messages: say('call weather {"city":"Paris"}'),
      tools: [{ type: 'function', function: weather }],
    });
    expect(await runner.finalContent()).toContain('sunny in Paris');
    expect(asked).toEqual([{ city: 'Paris' }]);
  });

  test('the OpenAI SDK throws BadRequestError with the list of models for an unknown model', async () => {
    const call = connect(router.key).chat.completions.create({
      model: 'no/such',
      messages: say('x'),
    });
    const error = await rejection<SdkError>(call);
    expect(error.constructor.name).toBe('BadRequestError');
    expect(error).toMatchObject({
      status: 400,
      type: 'invalid_request_error',
      code: 'model_not_found',
      param: 'model',
    });
    expect(error.message).toContain('aurora/scribe-1, borealis/swift-2, cirrus/vista-3');
    expect(error.requestID).toMatch(/^req_/);
  });

  test('the OpenAI SDK throws AuthenticationError for a wrong key without a retry', async () => {
    const call = connect('mrk_live_wrong').chat.completions.create({
      model: 'm',
      messages: say('x'),
    });
    const error = await rejection<SdkError>(call);
    expect(error.constructor.name).toBe('AuthenticationError');
    expect(error).toMatchObject({
      status: 401,
      type: 'authentication_error',
      code: 'invalid_api_key',
    });
    expect(error.headers.get('x-should-retry')).toBe('false');
  });

  test('the OpenAI SDK throws an APIError of 402 with the time to retry when the quota is used up', async () => {
    const client = connect(await router.createKey({ plan: { quota: 1, period: 'day' } }));
    const request = { model: 'aurora/scribe-1', messages: say('x') };
    await client.chat.completions.create(request);
    const error = await rejection<SdkError>(client.chat.completions.create(request));
    expect(error).toMatchObject({
      status: 402,
      type: 'insufficient_quota',
      code: 'insufficient_quota',
    });
    expect(error.message).toMatch(/\d{4}-\d\d-\d\dT00:00:00Z/);
    expect(error.headers.get('retry-after')).toBeNull();
  });

  test('the OpenAI SDK throws RateLimitError above the requests of a minute', async () => {
    const client = connect(await router.createKey({ plan: { rpm: 1 } }));
    const ask = () =>
      client.chat.completions.create(
        { model: 'aurora/scribe-1', messages: say('say x') },
        { maxRetries: 0 },
      );
    // Of three at least two are in the same minute.
    const error = await rejection<SdkError>(Promise.all([ask(), ask(), ask()]));
    expect(error.constructor.name).toBe('RateLimitError');
    expect(error).toMatchObject({
      status: 429,
      type: 'rate_limit_error',
      code: 'rate_limit_exceeded',
    });
    const seconds = Number(error.headers.get('retry-after'));
    expect(seconds).toBeGreaterThanOrEqual(1);
    expect(seconds).toBeLessThanOrEqual(60);
  });
});
