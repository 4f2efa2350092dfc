import { ChatAnthropic } from '@langchain/anthropic';
import { ChatOpenAI } from '@langchain/openai';
import { describe, expect, test } from 'vitest';
import { rejection } from '../support/error-of.ts';
import type { Family } from '../support/families.ts';
import { createFreshModels } from '../support/fresh-models.ts';
import { MODEL_ON, useRouter } from '../support/local.ts';

// A pause between the messages, so that the first ones have left before the upstream breaks off.
const models = createFreshModels(8);
const router = useRouter({ delayMs: 2, catalog: models.catalog });

const clients = {
  ChatOpenAI: (model: string, apiKey: string) =>
    new ChatOpenAI({
      model,
      apiKey,
      maxRetries: 0,
      configuration: { baseURL: `${router().baseUrl}/v1` },
    }),
  ChatAnthropic: (model: string, apiKey: string) =>
    new ChatAnthropic({ model, apiKey, maxRetries: 0, anthropicApiUrl: router().baseUrl }),
};
type ClientName = keyof typeof clients;

const NAMES: ClientName[] = ['ChatOpenAI', 'ChatAnthropic'];
const PROTOCOLS: Family[] = ['chat', 'messages'];
const GRID = NAMES.flatMap((name) =>
  PROTOCOLS.map((protocol) => ({ name, protocol, model: MODEL_ON[protocol] })),
);

const connect = (name: ClientName, model: string, key = router().key) => clients[name](model, key);

/** Both clients take tools in this form. */
const WEATHER = {
  type: 'function' as const,
  function: {
    name: 'weather',
    description: 'The weather in a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};
const PLACE = {
  title: 'place',
  type: 'object',
  properties: { city: { type: 'string' }, people: { type: 'integer' } },
  required: ['city', 'people'],
  additionalProperties: false,
};

/** The whole message of a stream, added up by the client's own means. */
const gather = async <T extends { concat(chunk: T): T }>(stream: AsyncIterable<T>): Promise<T> => {
  let whole: T | undefined;
  for await (const chunk of stream) whole = whole ? whole.concat(chunk) : chunk;
  if (!whole) throw new Error('the stream was empty');
  return whole;
};

describe.each(GRID)('$name on $model', ({ name, protocol, model }) => {
  test('LangChain invokes a model', async () => {
    const message = await connect(name, model).invoke([
      ['system', 'Be brief.'],
      ['user', 'say All is well.'],
    ]);
    expect(message.text).toBe('All is well.');
    expect(message.usage_metadata).toMatchObject({
      input_tokens: expect.any(Number),
      output_tokens: 3,
    });
  });

  test('LangChain streams and counts the tokens once', async () => {
    const message = await gather(await connect(name, model).stream('say One two three.'));
    expect(message.text).toBe('One two three.');
    expect(message).toMatchObject({ usage_metadata: { output_tokens: 3 } });
  });

  test('LangChain runs a loop of parallel tool calls, whole and streamed', async () => {
    const bound = connect(name, model).bindTools([WEATHER]);
    const prompt = 'call weather {"city":"Paris"} and call weather {"city":"Rome"}';
    const whole = await bound.invoke(prompt);
    const streamed = await gather(await bound.stream(prompt));
    for (const first of [whole, streamed]) {
      const calls = first.tool_calls ?? [];
      expect(calls.map(({ args }) => args)).toEqual([{ city: 'Paris' }, { city: 'Rome' }]);
      const second = await bound.invoke([
        ['user', prompt],
        first,
        ...calls.map(({ id = '', args }) => ({
          role: 'tool',
          tool_call_id: id,
          content: `sunny in ${args.city}`,
        })),
      ]);
      expect(second.text).toBe('The tool said "sunny in Paris". The tool said "sunny in Rome".');
    }
  });

  test('LangChain returns an object of the schema', async () => {
    const place = await connect(name, model).withStructuredOutput(PLACE).invoke('Where is it?');
    expect(place).toEqual({ city: expect.any(String), people: expect.any(Number) });
  });

  /** After five messages both protocols have sent words. */
  test.each(['truncate=5', 'malformed=5', 'reset=5', 'error=5'])(
    'LangChain throws when the upstream breaks off with %s',
    async (fault) => {
      const seen: string[] = [];
      const client = connect(name, models.next(protocol));
      const read = async () => {
        const prompt = `fault ${fault}\nsay One two three four five six.`;
        for await (const { text } of await client.stream(prompt)) seen.push(text);
      };
      const error = await rejection(read());
      expect(String(error)).toMatch(/temporarily unavailable|sent an invalid response/);
      expect(seen.join('')).toMatch(/^One/);
    },
  );
});

describe.each(NAMES)('%s', (name) => {
  test('LangChain distinguishes a wrong model, a wrong key, a spent quota and a full minute', async () => {
    const spent = await router().createKey({ plan: { quota: 0 } });
    const busy = await router().createKey({ plan: { rpm: 0 } });
    const ask = (model: string, key?: string) =>
      rejection(connect(name, model, key).invoke('Hello'));
    const errors = [
      await ask('no/such'),
      await ask(MODEL_ON.chat, 'mrk_live_wrong'),
      await ask(MODEL_ON.chat, spent),
      await ask(MODEL_ON.chat, busy),
    ];
    expect(errors).toMatchObject([
      { status: 400, message: expect.stringContaining('aurora/scribe-1, borealis/swift-2') },
      { status: 401, lc_error_code: 'MODEL_AUTHENTICATION' },
      { status: 402, message: expect.stringContaining('quota') },
      { status: 429, lc_error_code: 'MODEL_RATE_LIMIT' },
    ]);
  });
});

describe.each(Object.values(MODEL_ON))('ChatAnthropic on %s', (model) => {
  test('ChatAnthropic returns thinking and sends it back in the next request', async () => {
    const client = connect('ChatAnthropic', model);
    const prompt = 'think Let me see.\nsay Done.';
    const first = await gather(await client.stream(prompt));
    expect(first.content).toMatchObject([
      { type: 'thinking', thinking: 'Let me see.', signature: expect.stringMatching(/./) },
      { type: 'text', text: 'Done.' },
    ]);
    const second = await client.invoke([['user', prompt], first, ['user', 'say Again.']]);
    expect(second.text).toBe('Again.');
  });
});
