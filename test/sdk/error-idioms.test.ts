import Anthropic from '@anthropic-ai/sdk';
import Anthropic0 from '@anthropic-ai/sdk-0';
import OpenAI from 'openai';
import OpenAI5 from 'openai-5';
import { describe, expect, test } from 'vitest';
import defaultModels from '../../lambdas/catalog/models.json' with { type: 'json' };
import { type Model, parseModels } from '../../lambdas/catalog/parse-models.ts';
import { rejection } from '../support/error-of.ts';
import { MODEL_ON, post, useRouter } from '../support/local.ts';
import { parseJson, readSse } from '../support/sse-text.ts';

const defaults = parseModels(defaultModels);
const copyOf = (id: string, extra: Partial<Model> = {}): Model[] =>
  defaults.slice(0, 1).map((model) => ({ ...model, id, ...extra }));

const SMALL = 'small/context-1';
const FILLERS = Array.from({ length: 596 }, (_, index) => copyOf(`filler/item-${index}x`)).flat();
const router = useRouter({
  delayMs: 2,
  catalog: [...defaults, ...copyOf(SMALL, { context_length: 50 }), ...FILLERS],
});

const OPENAI: [string, (key: string) => OpenAI][] = [
  ['openai 7', (apiKey) => new OpenAI({ baseURL: `${router().baseUrl}/v1`, apiKey })],
  [
    'openai 5',
    // The older major's client has the same shape where these tests use it.
    (apiKey) => new OpenAI5({ baseURL: `${router().baseUrl}/v1`, apiKey }) as unknown as OpenAI,
  ],
];
const ANTHROPIC: [string, (key: string) => Anthropic][] = [
  ['anthropic 1', (apiKey) => new Anthropic({ baseURL: router().baseUrl, apiKey })],
  [
    'anthropic 0',
    (apiKey) => new Anthropic0({ baseURL: router().baseUrl, apiKey }) as unknown as Anthropic,
  ],
];

const LONG = 'word '.repeat(200);
const say = (content: string) => [{ role: 'user' as const, content }];

/** The texts that clients look for: the vendor's on chat, and the one that agents parse. */
const CHAT_OVERFLOW =
  /prompt is too long: (\d+) tokens > 50 maximum\. This model's maximum context length is 50 tokens\. However, your messages resulted in \1 tokens\. Please reduce the length of the messages\.$/;

describe.each(OPENAI)('%s', (name, connect) => {
  const ask = (model: string, key = router().key, content = 'say x') =>
    rejection(connect(key).chat.completions.create({ model, messages: say(content) }));

  test(`${name} gets a prompt over the context in the words of its vendor and with its code`, async () => {
    const error = await ask(SMALL, router().key, LONG);
    expect(error).toMatchObject({
      status: 400,
      code: 'context_length_exceeded',
      param: 'messages',
    });
    expect(String(error)).toMatch(CHAT_OVERFLOW);
  });

  test.each([
    ['Aurora/Scribe-1', 'aurora/scribe-1'],
    ['scribe-1', 'aurora/scribe-1'],
    ['aurora/scrib-1', 'aurora/scribe-1'],
    ['swift-2-20261120', 'borealis/swift-2'],
    ['openai/vista', 'cirrus/vista-3'],
  ])(`${name} gets the near match of the unknown model %s first`, async (wanted, near) => {
    const error = await ask(wanted);
    expect(error).toMatchObject({ status: 400, code: 'model_not_found', param: 'model' });
    expect(String(error)).toContain(`does not exist. Did you mean ${near}? Valid models: `);
  });

  test(`${name} hears of a model outside its plan that it is not in the models of its key`, async () => {
    const key = await router().createKey({ plan: { models: ['aurora/scribe-1'] } });
    const error = await ask('borealis/swift-2', key);
    expect(error).toMatchObject({ status: 400, code: 'model_not_found', param: 'model' });
    expect(String(error)).toContain(
      "The model 'borealis/swift-2' is not in the models of your key. Valid models: aurora/scribe-1.",
    );
  });

  test(`${name} gets every one of 600 valid ids for an unknown model, the near ones first`, async () => {
    const { data } = await connect(router().key).models.list();
    const ids = data.map(({ id }) => id);
    expect(ids).toHaveLength(600);
    const listed = async (wanted: string) => {
      const [before = '', list = ''] = String(await ask(wanted)).split('Valid models: ');
      return {
        isHinted: before.includes('Did you mean'),
        list: list.replace(/\.$/, '').split(', '),
      };
    };
    expect(await listed('no/such')).toEqual({ isHinted: false, list: ids });
    const { isHinted, list } = await listed('filler/item-591y');
    expect(isHinted).toBe(true);
    expect(list[0]).toBe('filler/item-591x');
    expect(list.toSorted()).toEqual(ids.toSorted());
  });

  test(`${name} gets a NotFoundError with the code model_not_found for a model that it reads`, async () => {
    const error = await rejection(connect(router().key).models.retrieve('no/such'));
    expect(error).toMatchObject({ status: 404, code: 'model_not_found', param: 'model' });
  });

  test(`${name} gets the parts that responses accept for a part of chat`, async () => {
    const content = [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }];
    // The types of the client forbid what its users send.
    const input = [{ role: 'user', content }] as unknown as string;
    const error = await rejection(
      connect(router().key).responses.create({ model: MODEL_ON.chat, input }),
    );
    expect(error).toMatchObject({ status: 400, param: 'input.0.content.0.type' });
    expect(String(error)).toContain(
      '"input_text", "output_text", "refusal", "input_image", "input_file"',
    );
  });

  test.each([
    [{ quota: 0 }, 402, 'insufficient_quota'],
    [{ rpm: 0 }, 429, 'rate_limit_exceeded'],
  ])(
    `${name} is told not to retry under a plan of %o, which admits no requests`,
    async (plan, status, code) => {
      const key = await router().createKey({ plan });
      const error = await ask(MODEL_ON.chat, key);
      expect(error).toMatchObject({ status, code });
      expect(String(error)).toContain('admits no requests');
      expect(error).toMatchObject({ headers: expect.any(Headers) });
      const { headers } = error as { headers: Headers };
      expect(headers.get('x-should-retry')).toBe('false');
      expect(headers.get('retry-after')).toBeNull();
    },
  );
});

describe.each(ANTHROPIC)('%s', (name, connect) => {
  const ask = (model: string, content: string) =>
    rejection(
      connect(router().key).messages.create({ model, max_tokens: 9, messages: say(content) }),
    );

  test(`${name} gets a prompt over the context in the words of its vendor alone`, async () => {
    const error = await ask(SMALL, LONG);
    expect(error).toMatchObject({
      status: 400,
      error: {
        error: { message: expect.stringMatching(/^prompt is too long: \d+ tokens > 50 maximum$/) },
      },
    });
  });

  test(`${name} gets the near match of an unknown model`, async () => {
    expect(String(await ask('vista-3', 'x'))).toContain('Did you mean cirrus/vista-3?');
  });
});

/** The vendor's enum; null until the end. */
const FINISH_REASONS = ['stop', 'length', 'tool_calls', 'content_filter', 'function_call', null];

test.each(Object.values(MODEL_ON))(
  'a chat stream of %s that breaks off ends with a message named error, and with no finish_reason of its own',
  async (model) => {
    const answer = await post(router(), '/v1/chat/completions', {
      model,
      stream: true,
      messages: say('fault truncate=5\nsay One two three four five six.'),
    });
    expect(answer.status).toBe(200);
    const events = readSse(await answer.text());
    expect(events.filter(({ event }) => event !== undefined)).toEqual([events.at(-1)]);
    expect(events.at(-1)?.event).toBe('error');
    expect(parseJson(events.at(-1)?.data ?? '')).toEqual({
      error: {
        type: 'api_error',
        message: `The model is temporarily unavailable. The response was interrupted after ${events.length - 1} events; it is not charged. Request ${answer.headers.get('x-request-id')}.`,
        param: null,
        code: null,
      },
    });
    const chunks = events.slice(0, -1).map(({ data }) => parseJson(data));
    expect(chunks.length).toBeGreaterThan(1);
    for (const { choices } of chunks) {
      const [choice] = choices as { finish_reason: string | null }[];
      expect(FINISH_REASONS).toContain(choice?.finish_reason);
      expect(choice?.finish_reason).toBeNull();
    }
  },
);

test.each(['/v1/models', '/v1/models/cirrus%2Fvista-3', '/v1/usage', '/v1/nowhere'])(
  'no cache may keep the answer of GET %s',
  async (path) => {
    const headers = { 'x-api-key': router().key };
    const answer = await fetch(`${router().baseUrl}${path}`, { headers });
    expect(answer.headers.get('cache-control')).toBe('no-store');
    await answer.arrayBuffer();
  },
);

test('no cache may keep a whole answer', async () => {
  const answer = await post(router(), '/v1/chat/completions', {
    model: MODEL_ON.chat,
    messages: say('say x'),
  });
  expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store']);
  await answer.arrayBuffer();
});
