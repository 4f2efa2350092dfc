import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { APICallError, generateText, isStepCount, Output, streamText, tool } from 'ai';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { rejection } from '../support/error-of.ts';
import type { Family } from '../support/families.ts';
import { createFreshModels } from '../support/fresh-models.ts';
import { MODEL_ON, useRouter } from '../support/local.ts';

// A pause between the messages, so that the first ones have left before the upstream breaks off.
const models = createFreshModels(12);
const router = useRouter({ delayMs: 2, catalog: models.catalog });
const settings = (apiKey: string) => ({ baseURL: `${router().baseUrl}/v1`, apiKey });

const providers = {
  'openai-compatible': (key: string) =>
    createOpenAICompatible({
      ...settings(key),
      name: 'router',
      includeUsage: true,
      supportsStructuredOutputs: true,
    }),
  'openai .chat()': (key: string) => createOpenAI(settings(key)).chat,
  anthropic: (key: string) => createAnthropic(settings(key)),
};
type ProviderName = keyof typeof providers;

const NAMES: ProviderName[] = ['openai-compatible', 'openai .chat()', 'anthropic'];
const PROTOCOLS: Family[] = ['chat', 'messages'];
const GRID = NAMES.flatMap((name) =>
  PROTOCOLS.map((protocol) => ({ name, protocol, model: MODEL_ON[protocol] })),
);
/** The provider named after OpenAI's own API knows no reasoning on chat completions. */
const SHOWING_REASONING = GRID.filter(({ name }) => name !== 'openai .chat()');

const connect = (name: ProviderName, model: string, key = router().key) => ({
  model: providers[name](key)(model),
  // Named, as the provider does not know how much these models may say.
  maxOutputTokens: 1000,
  maxRetries: 0,
});

const PARIS_AND_ROME = 'call weather {"city":"Paris"} and call weather {"city":"Rome"}';
/** After five messages both protocols have sent words. */
const BREAKS = ['truncate=5', 'malformed=5', 'reset=5', 'error=5'];
const TOOLS = {
  weather: tool({
    description: 'The weather in a city',
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => `sunny in ${city}`,
  }),
};
const brokenClock = async (): Promise<string> => {
  throw new Error('no clock');
};

const toArray = async <T>(stream: AsyncIterable<T>): Promise<T[]> => {
  const items: T[] = [];
  for await (const item of stream) items.push(item);
  return items;
};

describe.each(GRID)('$name on $model', ({ name, protocol, model }) => {
  test('the AI SDK generates text', async () => {
    const result = await generateText({
      ...connect(name, model),
      instructions: 'Be brief.',
      prompt: 'say All is well.',
    });
    expect(result.text).toBe('All is well.');
    expect(result.finishReason).toBe('stop');
    expect(result.usage).toMatchObject({ inputTokens: expect.any(Number), outputTokens: 3 });
  });

  test('the AI SDK streams text', async () => {
    const result = streamText({ ...connect(name, model), prompt: 'say One two three.' });
    const deltas = await toArray(result.textStream);
    expect(deltas).toEqual(['One', ' two', ' three.']);
    expect(await result.finishReason).toBe('stop');
    expect(await result.usage).toMatchObject({ inputTokens: expect.any(Number), outputTokens: 3 });
  });

  test('the AI SDK runs a loop of parallel tool calls', async () => {
    const { steps, text } = await generateText({
      ...connect(name, model),
      tools: TOOLS,
      stopWhen: isStepCount(5),
      prompt: PARIS_AND_ROME,
    });
    expect(steps.map(({ finishReason }) => finishReason)).toEqual(['tool-calls', 'stop']);
    expect(steps[0]?.toolCalls.map(({ input }) => input)).toEqual([
      { city: 'Paris' },
      { city: 'Rome' },
    ]);
    expect(text).toBe('The tool said "sunny in Paris". The tool said "sunny in Rome".');
  });

  test('the AI SDK runs a loop of parallel tool calls on streams', async () => {
    const result = streamText({
      ...connect(name, model),
      tools: TOOLS,
      stopWhen: isStepCount(5),
      prompt: PARIS_AND_ROME,
    });
    const results = (await result.steps).flatMap(({ toolResults }) => toolResults);
    expect(results.map(({ output }) => output)).toEqual(['sunny in Paris', 'sunny in Rome']);
    expect(await result.text).toContain('sunny in Rome');
  });

  test('the AI SDK continues after a tool without arguments has failed', async () => {
    const { text } = await generateText({
      ...connect(name, model),
      tools: {
        now: tool({ inputSchema: z.object({}), execute: brokenClock }),
      },
      stopWhen: isStepCount(5),
      prompt: 'call now {}',
    });
    expect(text).toContain('no clock');
  });

  test('the AI SDK returns an object of the schema', async () => {
    const schema = z.object({ city: z.string(), degrees: z.number() });
    const { output } = await generateText({
      ...connect(name, model),
      output: Output.object({ schema }),
      prompt: 'The weather in Paris.',
    });
    expect(schema.safeParse(output).success).toBe(true);
    const streamed = streamText({
      ...connect(name, model),
      output: Output.object({ schema }),
      prompt: 'The weather in Paris.',
    });
    expect(await streamed.output).toEqual(output);
  });

  test.each(BREAKS)(
    'the AI SDK yields an error part when the upstream breaks off with %s',
    async (fault) => {
      const result = streamText({
        ...connect(name, models.next(protocol)),
        prompt: `fault ${fault}\nsay One two three four five six.`,
        onError: () => {},
      });
      const types = (await toArray(result.stream)).map(({ type }) => type);
      expect(types).toContain('text-delta');
      expect(types).toContain('error');
    },
  );
});

describe.each(SHOWING_REASONING)('$name on $model', ({ name, model }) => {
  test('the AI SDK returns reasoning and sends it back in the next request', async () => {
    const prompt = { role: 'user' as const, content: 'think Let me see.\nsay Done.' };
    const first = streamText({ ...connect(name, model), messages: [prompt] });
    expect(await first.reasoningText).toBe('Let me see.');
    expect(await first.text).toBe('Done.');
    const second = await generateText({
      ...connect(name, model),
      messages: [
        prompt,
        ...(await first.response).messages,
        { role: 'user', content: 'think Again.\nsay Well.' },
      ],
    });
    expect(second).toMatchObject({ reasoningText: 'Again.', text: 'Well.' });
  });
});

describe.each(NAMES)('%s', (name) => {
  const ask = (model: string, key?: string) =>
    rejection(generateText({ ...connect(name, model, key), prompt: 'Hello' }));

  test('the AI SDK sends an image as bytes', async () => {
    const { text } = await generateText({
      ...connect(name, 'cirrus/vista-3'),
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'file', data: Uint8Array.of(137, 80, 78, 71), mediaType: 'image/png' },
          ],
        },
      ],
    });
    expect(text).toContain('I see 1 image(s): image/png.');
  });

  test('the AI SDK distinguishes a wrong model, a wrong key, a spent quota and a full minute', async () => {
    const spent = await router().createKey({ plan: { quota: 0 } });
    const busy = await router().createKey({ plan: { rpm: 0 } });
    const errors = [
      await ask('no/such'),
      await ask(MODEL_ON.chat, 'mrk_live_wrong'),
      await ask(MODEL_ON.chat, spent),
      await ask(MODEL_ON.chat, busy),
    ];
    expect(errors.every(APICallError.isInstance)).toBe(true);
    expect(errors).toMatchObject([
      {
        statusCode: 400,
        isRetryable: false,
        message: expect.stringContaining('aurora/scribe-1, borealis/swift-2'),
      },
      { statusCode: 401, isRetryable: false },
      { statusCode: 402, isRetryable: false },
      { statusCode: 429, isRetryable: true },
    ]);
  });
});
