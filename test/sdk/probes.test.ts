import Anthropic from '@anthropic-ai/sdk';
import Anthropic0 from '@anthropic-ai/sdk-0';
import OpenAI, { AzureOpenAI } from 'openai';
import OpenAI5 from 'openai-5';
import { describe, expect, test } from 'vitest';
import { rejection } from '../support/error-of.ts';
import { MODEL_ON, post, useRouter } from '../support/local.ts';

const router = useRouter();
const MODELS = Object.values(MODEL_ON);

const openAi = {
  'openai 7': (baseURL: string) => new OpenAI({ baseURL, apiKey: router().key }),
  // The older majors' clients have the same shape where these tests use them.
  'openai 5': (baseURL: string) =>
    new OpenAI5({ baseURL, apiKey: router().key }) as unknown as OpenAI,
};
const anthropic = {
  'anthropic 1': (baseURL: string) => new Anthropic({ baseURL, apiKey: router().key }),
  'anthropic 0': (baseURL: string) =>
    new Anthropic0({ baseURL, apiKey: router().key }) as unknown as Anthropic,
};

const hello = { messages: [{ role: 'user' as const, content: 'say hi' }] };
const asked = (model: string) => ({ ...hello, model, max_tokens: 100 });

describe.each(Object.entries(openAi))('%s', (_, connect) => {
  const client = () => connect(`${router().baseUrl}/v1`);

  test('text completions get a 404 that names the route to use', async () => {
    const error = await rejection(
      client().completions.create({ model: MODEL_ON.chat, prompt: 'Hello' }),
    );
    expect(error).toMatchObject({
      status: 404,
      message: expect.stringContaining('POST /v1/chat/completions'),
    });
  });

  test.each(['', '/v1/v1', '/v1/', '/openai', '/openai/v1', '/api/v1'])(
    'a base address ending in "%s" is served like the one with /v1',
    async (path) => {
      const lost = connect(`${router().baseUrl}${path}`);
      const completion = await lost.chat.completions.create(asked(MODEL_ON.chat));
      expect(completion.choices[0]?.message.content).toBe('hi');
      const response = await lost.responses.create({ model: MODEL_ON.chat, input: 'say hi' });
      expect(response.output_text).toBe('hi');
    },
  );

  test.each([
    ['embeddings', (sdk: OpenAI) => sdk.embeddings.create({ model: 'm', input: 'x' })],
    ['files', (sdk: OpenAI) => sdk.files.list()],
    ['batches', (sdk: OpenAI) => sdk.batches.list()],
    ['moderations', (sdk: OpenAI) => sdk.moderations.create({ input: 'x' })],
    ['images', (sdk: OpenAI) => sdk.images.generate({ model: 'm', prompt: 'x' })],
    ['audio', (sdk: OpenAI) => sdk.audio.speech.create({ model: 'm', voice: 'v', input: 'x' })],
  ])(
    'a request for %s is a 404 whose one sentence states that it is not offered',
    async (_, ask) => {
      const error = await rejection<Error & { status: number }>(ask(client()));
      expect(error.status).toBe(404);
      expect(error.message).toMatch(/^404 [^.]*\bnot (?:offered|stored)\b[^.]*\.$/);
    },
  );
});

test('the Azure client of the OpenAI SDK is served with its path, its query and its api-key header', async () => {
  const { baseUrl: endpoint, key: apiKey } = router();
  const azure = new AzureOpenAI({ endpoint, apiKey, apiVersion: '2024-10-21' });
  const completion = await azure.chat.completions.create(asked(MODEL_ON.messages));
  expect(completion).toMatchObject({
    model: MODEL_ON.messages,
    choices: [{ message: { content: 'hi' } }],
  });
  const response = await azure.responses.create({ model: MODEL_ON.chat, input: 'say hi' });
  expect(response.output_text).toBe('hi');
});

describe.each(Object.entries(anthropic))('%s', (_, connect) => {
  const client = () => connect(router().baseUrl);

  test.each(['/v1', '/', '/anthropic', '/api/anthropic'])(
    'a messages client with the base address ending in "%s" is served',
    async (path) => {
      const lost = connect(`${router().baseUrl}${path}`);
      const message = await lost.messages.create(asked(MODEL_ON.chat));
      expect(message.content).toMatchObject([{ type: 'text', text: 'hi' }]);
    },
  );

  test('a request for message batches is a 404 that names POST /v1/messages', async () => {
    const error = await rejection(client().messages.batches.list());
    expect(error).toMatchObject({
      status: 404,
      message: expect.stringContaining('Message batches are not offered'),
    });
  });

  test.each(MODELS)('the beta API of %s accepts unknown betas', async (model) => {
    const betas = ['context-management-2025-06-27', 'no-such-beta-2030-01-01'];
    const message = await client().beta.messages.create({ ...asked(model), betas });
    expect(message.content).toMatchObject([{ type: 'text', text: 'hi' }]);
    const counted = await client().beta.messages.countTokens({ model, ...hello, betas });
    expect(counted.input_tokens).toBeGreaterThan(0);
  });

  test('an SDK pages through the models from the start and from the middle', async () => {
    const page = await client().models.list({ limit: 1000, after_id: MODEL_ON.chat });
    expect(page.data.map(({ id }) => id)).toContain(MODEL_ON.messages);
    expect(page.hasNextPage()).toBe(false);
  });
});

describe('agents', () => {
  test.each(['/', '/api/hello'])('an agent finds %s without a key', async (path) => {
    const head = await fetch(`${router().baseUrl}${path}`, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
    const get = await fetch(`${router().baseUrl}${path}`);
    expect(await get.json()).toMatchObject({ service: 'model-router' });
  });

  test.each(MODELS)(
    '%s accepts a beta query and every field that Claude Code sends',
    async (model) => {
      const response = await post(
        router(),
        '/v1/messages?beta=true',
        {
          ...asked(model),
          system: [
            { type: 'text', text: 'x-anthropic-billing-header: cc_version=2.1.329' },
            { type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } },
          ],
          messages: [...hello.messages, { role: 'system', content: 'The day is a Saturday.' }],
          metadata: { user_id: '{"device_id":"1"}' },
          thinking: { type: 'adaptive', display: 'summarized' },
          context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
          output_config: { effort: 'high' },
        },
        {
          headers: {
            'anthropic-version': '2023-06-01',
            'anthropic-beta': 'claude-code-20250219,interleaved-thinking-2025-05-14',
            'anthropic-dangerous-direct-browser-access': 'true',
          },
        },
      );
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject({ content: [{ type: 'text', text: 'hi' }] });
    },
  );

  test('a telemetry endpoint is a 404 in the envelope of its protocol', async () => {
    const response = await post(router(), '/api/event_logging/batch', { events: [] });
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ error: { type: 'invalid_request_error' } });
  });
});
