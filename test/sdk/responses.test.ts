import { createOpenAI } from '@ai-sdk/openai';
import { generateText, isStepCount, streamText, tool } from 'ai';
import OpenAI from 'openai';
import { zodTextFormat } from 'openai/helpers/zod';
import { beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { rejection } from '../support/error-of.ts';
import { createFreshModels } from '../support/fresh-models.ts';
import { MODEL_ON, post, useRouter } from '../support/local.ts';

// A pause between the messages, so that the first ones have left before the upstream breaks off.
const models = createFreshModels(4);
const router = useRouter({ delayMs: 2, catalog: models.catalog });
beforeEach(() => router().upstreams.reset());

const connect = (apiKey = router().key) =>
  new OpenAI({ baseURL: `${router().baseUrl}/v1`, apiKey, maxRetries: 0 });

const WEATHER: OpenAI.Responses.FunctionTool = {
  type: 'function',
  name: 'weather',
  description: 'The weather in a city',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  strict: false,
};
const PARIS_AND_ROME = 'call weather {"city":"Paris"} and call weather {"city":"Rome"}';

type SdkError = Error & { status: number; code: string; param: string; type: string };

describe.each(Object.entries(MODEL_ON))('an upstream that speaks %s', (protocol, model) => {
  test('the OpenAI SDK creates a response, whose headers name what is not honoured', async () => {
    const { data, response } = await connect()
      .responses.create({
        model,
        instructions: 'Be brief.',
        input: 'say All is well.',
      })
      .withResponse();
    expect(data).toMatchObject({
      id: expect.stringMatching(/^resp_/),
      model,
      status: 'completed',
      store: false,
      output_text: 'All is well.',
    });
    expect(data.usage?.total_tokens).toBe(
      (data.usage?.input_tokens ?? 0) + (data.usage?.output_tokens ?? 0),
    );
    expect(response.headers.get('x-router-dropped')).toBe('store');
    expect(response.headers.get('x-request-id')).toMatch(/^req_/);
  });

  test('a prompt of developer messages alone gets a response', async () => {
    const input = [{ role: 'developer' as const, content: 'Say anything.' }];
    const { status, output_text } = await connect().responses.create({ model, input });
    expect([status, output_text]).toEqual(['completed', expect.stringContaining('Hello from')]);
  });

  test('the stream helper of the OpenAI SDK adds up reasoning, text and parallel calls', async () => {
    const stream = connect().responses.stream({
      model,
      input: `think Let me see.\n${PARIS_AND_ROME}`,
      tools: [WEATHER],
      store: false,
    });
    const types = new Set<string>();
    for await (const event of stream) types.add(event.type);
    const response = await stream.finalResponse();
    expect(response.output).toMatchObject([
      {
        type: 'reasoning',
        summary: [{ text: 'Let me see.' }],
        encrypted_content: expect.any(String),
      },
      { type: 'function_call', name: 'weather', arguments: '{"city":"Paris"}' },
      { type: 'function_call', name: 'weather', arguments: '{"city":"Rome"}' },
    ]);
    expect([...types]).toEqual(
      expect.arrayContaining([
        'response.created',
        'response.completed',
        'response.output_item.done',
      ]),
    );
  });

  test('a loop of tool calls sends the reasoning back to the upstream that wrote it', async () => {
    const client = connect();
    const prompt = { role: 'user' as const, content: `think Let me see.\n${PARIS_AND_ROME}` };
    const first = await client.responses.create({
      model,
      input: [prompt],
      tools: [WEATHER],
      store: false,
    });
    const calls = first.output.filter((item) => item.type === 'function_call');
    const outputs = calls.map(({ call_id }) => ({
      type: 'function_call_output' as const,
      call_id,
      output: 'sunny',
    }));
    router().upstreams.reset();
    const second = await client.responses.create({
      model,
      // The SDK's own types differ in items that no router sends.
      input: [prompt, ...first.output, ...outputs] as OpenAI.Responses.ResponseInput,
      tools: [WEATHER],
      store: false,
    });
    expect(second.output_text).toContain('sunny');
    const sent = JSON.stringify(router().upstreams.calls.at(-1)?.body);
    expect(sent).toContain('Let me see.');
    expect(sent).toContain(protocol === 'chat' ? 'reasoning_content' : '"signature"');
  });

  test('the parse helper of the OpenAI SDK reads a structured output', async () => {
    const Answer = z.object({ city: z.string() });
    const response = await connect().responses.parse({
      model,
      input: 'Which city?',
      text: { format: zodTextFormat(Answer, 'answer') },
    });
    expect(Answer.parse(response.output_parsed).city).toEqual(expect.any(String));
  });

  test('the OpenAI SDK counts input tokens without spending quota', async () => {
    const client = connect(await router().createKey({ plan: { quota: 0 } }));
    const input = 'How many tokens is this?';
    const { data, response } = await client.responses.inputTokens
      .count({ model, instructions: 'You are brief.', tools: [WEATHER], input })
      .withResponse();
    expect(data).toEqual({ object: 'response.input_tokens', input_tokens: expect.any(Number) });
    expect(response.headers.get('x-router-counted-by')).toBe('estimate');
    const messages = [{ role: 'user', content: input }];
    const { instructions: system, ...rest } = { model, instructions: 'You are brief.', messages };
    const tools = [
      { name: 'weather', input_schema: WEATHER.parameters, description: WEATHER.description },
    ];
    const counted = await post(router(), '/v1/messages/count_tokens', { ...rest, system, tools });
    expect(await counted.json()).toEqual({ input_tokens: data.input_tokens });
    const alone = await client.responses.inputTokens.count({
      model,
      instructions: 'You are brief.',
    });
    expect(alone.input_tokens).toBeLessThan(data.input_tokens);
  });

  test('a custom tool is called with its text, and its output is read', async () => {
    const client = connect();
    const input = [{ role: 'user' as const, content: 'call patch {"input":"*** Begin Patch"}' }];
    const tools: OpenAI.Responses.Tool[] = [{ type: 'custom', name: 'patch' }];
    const stream = client.responses.stream({ model, input, tools });
    const { output } = await stream.finalResponse();
    expect(output).toMatchObject([
      { type: 'custom_tool_call', name: 'patch', input: '*** Begin Patch' },
    ]);
    const [call] = output;
    if (call?.type !== 'custom_tool_call') throw new Error('expected a custom tool call');
    const result = {
      type: 'custom_tool_call_output' as const,
      call_id: call.call_id,
      output: 'patched',
    };
    const second = await client.responses.create({ model, input: [...input, call, result], tools });
    expect(second.output_text).toContain('patched');
  });

  test.each([
    [
      { type: 'apply_patch' as const },
      { type: 'update_file', path: 'a.txt', diff: '@@\n-a\n+b' },
      { operation: { type: 'update_file', path: 'a.txt', diff: '@@\n-a\n+b' } },
      { status: 'completed', output: 'patched' },
    ],
    [
      { type: 'shell' as const },
      { commands: ['ls', 'pwd'], timeout_ms: 500 },
      {
        action: { commands: ['ls', 'pwd'], timeout_ms: 500, max_output_length: null },
        environment: { type: 'local' },
      },
      { output: [{ stdout: 'patched', stderr: '', outcome: { type: 'exit', exit_code: 0 } }] },
    ],
    [
      { type: 'local_shell' as const },
      { command: ['ls', '-l'], working_directory: '/tmp' },
      { action: { type: 'exec', command: ['ls', '-l'], env: {}, working_directory: '/tmp' } },
      { output: 'patched' },
    ],
  ])(
    '%o is called as its own kind, whole and streamed, and its output is read',
    async (own, called, members, result) => {
      const client = connect();
      const input = [
        { role: 'user' as const, content: `call ${own.type} ${JSON.stringify(called)}` },
      ];
      const asked = { model, input, tools: [own, WEATHER], store: false };
      const { data, response } = await client.responses.create(asked).withResponse();
      expect(response.headers.get('x-router-dropped')).toBeNull();
      const streamed = await client.responses.stream(asked).finalResponse();
      const item = { type: `${own.type}_call`, status: 'completed', ...members };
      expect([data.output, streamed.output]).toEqual(
        Array(2).fill([{ ...item, id: expect.any(String), call_id: expect.any(String) }]),
      );
      const [call] = data.output;
      if (!call || !('call_id' in call)) throw new Error('expected a call');
      const output = { type: `${own.type}_call_output`, call_id: call.call_id, ...result };
      const history = [...input, call, output] as OpenAI.Responses.ResponseInput;
      const second = await client.responses.create({ ...asked, input: history });
      expect(second.output_text).toContain('patched');
    },
  );

  test('a call of apply_patch whose arguments are not those of the tool is a call of a function', async () => {
    const input = 'call apply_patch {"patch":"*** Begin Patch"}';
    const asked = { model, input, tools: [{ type: 'apply_patch' as const }], store: false };
    const whole = await connect().responses.create(asked);
    const streamed = await connect().responses.stream(asked).finalResponse();
    for (const { output } of [whole, streamed]) {
      expect(output).toMatchObject([
        { type: 'function_call', name: 'apply_patch', arguments: '{"patch":"*** Begin Patch"}' },
      ]);
    }
  });

  test('hosted tools are dropped and named in a header', async () => {
    const tools: OpenAI.Responses.Tool[] = [{ type: 'web_search' }, WEATHER];
    const { response } = await connect()
      .responses.create({ model, input: 'say hi', tools, store: false })
      .withResponse();
    expect(response.headers.get('x-router-dropped')).toBe('tools[web_search]');
  });

  test('a failure before the first content is hidden by the second target', async () => {
    const asked = models.next(protocol as keyof typeof MODEL_ON);
    router().upstreams.inject({
      fault: { kind: 'status', status: 500 },
      times: 1,
      model: asked.split('/').at(-1) ?? '',
    });
    const response = await connect().responses.create({ model: asked, input: 'say hi' });
    expect(response.output_text).toBe('hi');
  });

  test('a stream that breaks off ends with an error that the OpenAI SDK throws, and costs no unit', async () => {
    const asked = models.next(protocol as keyof typeof MODEL_ON);
    const before = await usedBy(router().key);
    const stream = connect().responses.stream({
      model: asked,
      input: 'fault truncate=4\nsay One two three.',
    });
    const error = await rejection<Error>(stream.finalResponse());
    expect(error.message).toContain('temporarily unavailable');
    await expect.poll(() => usedBy(router().key)).toBe(before);
  });

  test('the default model of the AI SDK generates, streams and calls tools', async () => {
    const openai = createOpenAI({ baseURL: `${router().baseUrl}/v1`, apiKey: router().key });
    const options = { model: openai(model), maxRetries: 0 };
    const whole = await generateText({ ...options, prompt: 'say All is well.' });
    expect(whole.text).toBe('All is well.');
    expect(whole.usage).toMatchObject({ inputTokens: expect.any(Number), outputTokens: 3 });
    const streamed = streamText({ ...options, prompt: 'think Hm.\nsay One two.' });
    expect([await streamed.text, await streamed.reasoningText]).toEqual(['One two.', 'Hm.']);
    expect(await streamed.finishReason).toBe('stop');
    const weather = tool({
      inputSchema: z.object({ city: z.string() }),
      execute: async ({ city }) => `sunny in ${city}`,
    });
    const loop = await generateText({
      ...options,
      prompt: PARIS_AND_ROME,
      tools: { weather },
      stopWhen: isStepCount(5),
      providerOptions: { openai: { store: false } },
    });
    expect(loop.text).toContain('sunny in Rome');
  });
});

const usedBy = async (key: string): Promise<unknown> => {
  const response = await fetch(`${router().baseUrl}/v1/usage`, {
    headers: { authorization: `Bearer ${key}` },
  });
  const { period } = (await response.json()) as { period: { used: number } };
  return period.used;
};

test.each([
  ['previous_response_id', { previous_response_id: 'resp_1' }],
  ['conversation', { conversation: 'conv_1' }],
  ['background', { background: true }],
  ['store', { store: true }],
])('%s is a 400 that names what to do', async (param, fields) => {
  const asked = { model: MODEL_ON.chat, input: 'say hi', ...fields };
  const error = await rejection<SdkError>(connect().responses.create(asked));
  expect(error).toMatchObject({ status: 400, param, type: 'invalid_request_error' });
  expect(error.message).toMatch(
    /(?:is not supported|needs a plan).*: (?:send the whole conversation|wait|leave it out)/,
  );
});

test('an item reference to a text is a 400 that names the setting of the AI SDK', async () => {
  const input = [{ type: 'item_reference' as const, id: 'msg_1' }];
  const error = await rejection<SdkError>(
    connect().responses.create({ model: MODEL_ON.chat, input }),
  );
  expect(error).toMatchObject({ status: 400, param: 'input.0' });
  expect(error.message).toContain('store = false');
});

test('compaction is a 404 that says that it is not offered', async () => {
  const asked = { model: 'gpt-5', input: 'say hi' } as const;
  expect(await rejection<SdkError>(connect().responses.compact(asked))).toMatchObject({
    status: 404,
    type: 'invalid_request_error',
    message: expect.stringContaining('Compaction is not offered'),
  });
});

test('reading, cancelling and deleting a stored response is a 400 that names the plan without a store', async () => {
  const { responses } = connect();
  const asks = [
    responses.retrieve('resp_1'),
    responses.cancel('resp_1'),
    responses.delete('resp_1'),
  ];
  for (const ask of asks) {
    expect(await rejection<SdkError>(ask)).toMatchObject({
      status: 400,
      message: expect.stringContaining('The plan of this API key store'),
    });
  }
});

/** Headers that differ between any two responses, and those that count seconds. */
const IDS = [
  ...['date', 'request-id', 'x-request-id', 'content-length'],
  ...['retry-after', 'retry-after-ms', 'x-ratelimit-reset-requests'],
];

test.each([
  [401, 'authentication_error', 'invalid_api_key', undefined],
  [402, 'insufficient_quota', 'insufficient_quota', { quota: 0 }],
  [429, 'rate_limit_error', 'rate_limit_exceeded', { rpm: 0 }],
])(
  'a %i has the error type %s, and the headers and body of chat',
  async (status, type, code, plan) => {
    const key = plan ? await router().createKey({ plan }) : 'mrk_wrong';
    const model = MODEL_ON.chat;
    const ask = async (path: string, conversation: object) => {
      const response = await post(router(), path, { model, ...conversation }, { key });
      const headers = [...response.headers].filter(([name]) => !IDS.includes(name));
      return { status: response.status, headers, body: await response.json() };
    };
    const refusal = await ask('/v1/responses', { input: 'say hi' });
    expect(refusal).toMatchObject({ status, body: { error: { type, code } } });
    const messages = [{ role: 'user', content: 'say hi' }];
    expect(refusal).toEqual(await ask('/v1/chat/completions', { messages }));
  },
);

test('one key has one meter on chat and responses', async () => {
  const key = await router().createKey({ plan: { quota: 2 } });
  const client = connect(key);
  const messages = [{ role: 'user' as const, content: 'say hi' }];
  await client.chat.completions.create({ model: MODEL_ON.chat, messages });
  await client.responses.create({ model: MODEL_ON.chat, input: 'say hi' });
  expect(await usedBy(key)).toBe(2);
  const refusals = [
    client.responses.create({ model: MODEL_ON.chat, input: 'say hi' }),
    client.chat.completions.create({ model: MODEL_ON.chat, messages }),
  ];
  for (const refusal of refusals) expect(await rejection(refusal)).toMatchObject({ status: 402 });
});

test('errors name the fields of the responses protocol', async () => {
  const orphan = { type: 'function_call_output' as const, call_id: 'call_9', output: 'sunny' };
  const error = await rejection<SdkError>(
    connect().responses.create({ model: MODEL_ON.chat, input: [orphan] }),
  );
  expect(error).toMatchObject({ status: 400, param: 'input' });
  expect(error.message).toContain('input: the result for tool call');
});
