import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import type { Target } from '../../lambdas/catalog/catalog.ts';
import type { LocalRouter } from '../../local/start.ts';
import { type Billing, startBillingProvider } from '../support/billing-provider.ts';
import { post, startWatched } from '../support/local.ts';
import { modelOn, targetAt } from '../support/models.ts';

type Case = {
  name: string;
  protocol: Target['protocol'];
  body: Record<string, unknown>;
  usd: number;
};

const PRICES = {
  ...{ from: '2026-01-01', input: 5, output: 25, cache_read: 0.5 },
  uses: { web_search: 0.01 },
};
const call = { id: 'call_1', type: 'function', function: { name: '', arguments: '{}' } };
const tokens = { input_tokens: 1_000, output_tokens: 500 };

/** Whole responses with status 200 that no caller gets, and what their providers bill. */
const CASES: Case[] = [
  {
    name: 'of chat whose call lacks its name',
    protocol: 'chat',
    body: {
      choices: [{ index: 0, message: { tool_calls: [call] }, finish_reason: 'tool_calls' }],
      usage: { prompt_tokens: 1_000, completion_tokens: 500 },
    },
    usd: 0.0175,
  },
  {
    name: 'of chat without a choice',
    protocol: 'chat',
    body: {
      choices: [],
      usage: {
        ...{ prompt_tokens: 1_000, completion_tokens: 500 },
        prompt_tokens_details: { cached_tokens: 900 },
      },
    },
    usd: 0.0005 + 0.000_45 + 0.0125,
  },
  {
    name: 'of messages that has no stop_reason',
    protocol: 'messages',
    body: { type: 'message', content: [{ type: 'text', text: 'Hi' }], usage: tokens },
    usd: 0.0175,
  },
  {
    name: 'of responses that failed after a search',
    protocol: 'responses',
    body: {
      ...{ object: 'response', status: 'failed', error: { code: 'server_error', message: 'x' } },
      output: [{ type: 'web_search_call', action: { type: 'search' } }],
      usage: tokens,
    },
    usd: 0.0175 + 0.01,
  },
  {
    name: 'of Gemini whose call it could not write, after a search',
    protocol: 'gemini',
    body: {
      candidates: [
        {
          finishReason: 'MALFORMED_FUNCTION_CALL',
          groundingMetadata: { webSearchQueries: ['a'] },
        },
      ],
      usageMetadata: { promptTokenCount: 1_000, candidatesTokenCount: 500 },
    },
    usd: 0.0175 + 0.01,
  },
];

/** Ended well, without any content: the next target is asked. */
const EMPTY: Billing = {
  body: {
    choices: [{ index: 0, message: { content: '' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1_000, completion_tokens: 2 },
  },
};
const SERVES: Billing = {
  isWhole: true,
  usage: { prompt_tokens: 1_000, completion_tokens: 500 },
};

const Record = z.looseObject({
  usage: z.looseObject({ cost_usd: z.number() }),
  cost_source: z.string(),
});

let provider: Awaited<ReturnType<typeof startBillingProvider>>;
let router: LocalRouter;

beforeAll(async () => {
  provider = await startBillingProvider({
    ...Object.fromEntries(CASES.map(({ body }, index) => [`case-${index}`, { body }])),
    ...{ empty: EMPTY, serves: SERVES },
  });
  const targetOf = (model: string, protocol: Target['protocol'], upstream = 'billing') =>
    targetAt(protocol === 'messages' ? provider.url : `${provider.url}/v1`, {
      ...{ upstream, protocol, model, secret: 'billing' },
      prices: { currency: 'USD', versions: [PRICES] },
    });
  const modelOf = (id: string, targets: Target[]) => modelOn(targets, { id: `test/${id}` });
  router = await startWatched({
    secrets: { billing: 'a-credential-of-the-billing-provider' },
    catalog: [
      ...CASES.map(({ protocol }, index) =>
        modelOf(`case-${index}`, [targetOf(`case-${index}`, protocol, `billing-${index}`)]),
      ),
      modelOf('empty', [targetOf('empty', 'chat', 'first'), targetOf('serves', 'chat', 'second')]),
    ],
  });
});

afterAll(async () => {
  await router.close();
  await provider.close();
});

const ask = async (model: string, stream: boolean) => {
  const body = { model: `test/${model}`, stream, messages: [{ role: 'user', content: 'Hi' }] };
  const response = await post(router, '/v1/chat/completions', body);
  await response.text();
  const id = response.headers.get('x-request-id') ?? '';
  const headers = { 'x-api-key': router.key };
  const record = await fetch(`${router.baseUrl}/v1/requests/${id}`, { headers });
  return { status: response.status, record: Record.parse(await record.json()) };
};

describe.each([true, false])(
  'the cost of a response that its provider does not stream, for stream %s,',
  (stream) => {
    test.each(CASES.map((one, index) => ({ ...one, index })))(
      '$name is $usd dollars, though the caller gets an error',
      async ({ index, usd }) => {
        const { status, record } = await ask(`case-${index}`, stream);
        expect(status).toBeGreaterThanOrEqual(500);
        expect(record.usage.cost_usd).toBeCloseTo(usd, 9);
        expect(record.cost_source).toBe('priced');
      },
    );

    test('a whole response without content is a part of what the request costs', async () => {
      const { status, record } = await ask('empty', stream);
      expect(status).toBe(200);
      expect(record.usage.cost_usd).toBeCloseTo(0.005_05 + 0.0175, 9);
    });
  },
);
