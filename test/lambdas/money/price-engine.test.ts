import { calcPrice, extractUsage, findProvider } from '@pydantic/genai-prices';
import { expect, test } from 'vitest';
import { billOf } from '../../../lambdas/endpoints/bill.ts';
import type { PriceVersion, TokenPrices } from '../../../lambdas/money/prices.ts';
import { upstreamProtocols } from '../../../lambdas/protocols/protocols.ts';
import { fc } from '../../support/seeds.ts';
import { requestOf } from '../../support/translate.ts';
import type { Wire } from '../../support/wires.ts';

/**
 * Another project's price engine reads the same usage of a provider, and multiplies it by its own table; the router gets the
 * table's prices in the catalog's form.
 */

type Tiered = { base: number; tiers: { start: number; price: number }[] };
type EnginePrice = number | Tiered | undefined;

const KINDS = {
  input: 'input_mtok',
  output: 'output_mtok',
  cache_read: 'cache_read_mtok',
  cache_write_1h: 'cache_write_1h_mtok',
  input_audio: 'input_audio_mtok',
  output_audio: 'output_audio_mtok',
} as const;

const baseOf = (price: EnginePrice): number | undefined =>
  typeof price === 'object' ? price.base : price;

/** The prices of an engine's model, with the name of the lifetime that its vendor's writes to a cache have. */
const versionOf = (
  prices: Record<string, EnginePrice>,
  write: 'cache_write_5m' | 'cache_write_30m',
) => {
  const named = Object.entries({ ...KINDS, [write]: 'cache_write_mtok' });
  const starts = Object.values(prices).flatMap((price) =>
    typeof price === 'object' ? price.tiers.map(({ start }) => start) : [],
  );
  const pricesWith = (read: (price: EnginePrice) => number | undefined) =>
    Object.fromEntries(
      named.flatMap(([kind, key]) => {
        const value = read(prices[key]);
        return value === undefined ? [] : [[kind, value]];
      }),
    ) as TokenPrices;
  const tiers = [...new Set(starts)].map((above) => ({
    above,
    ...pricesWith((price) =>
      typeof price === 'object' ? price.tiers.find(({ start }) => start === above)?.price : price,
    ),
  }));
  const searches = baseOf(prices.web_searches_kcount);
  return {
    from: '2020-01-01',
    ...pricesWith(baseOf),
    ...(tiers.length > 0 && { tiers }),
    ...(searches !== undefined && { uses: { web_search: searches / 1_000 } }),
  } satisfies PriceVersion;
};

const tokens = fc.integer({ min: 0, max: 400_000 });

/** `cache_creation` may be absent: all of it lives for five minutes then. */
const claudeUsage = fc
  .record({
    fresh: tokens,
    read: tokens,
    short: tokens,
    long: tokens,
    out: tokens,
    searches: fc.nat(20),
    isSplit: fc.boolean(),
  })
  .map(({ fresh, read, short, long, out, searches, isSplit }) => ({
    input_tokens: fresh,
    cache_read_input_tokens: read,
    cache_creation_input_tokens: isSplit ? short + long : short,
    ...(isSplit && {
      cache_creation: { ephemeral_5m_input_tokens: short, ephemeral_1h_input_tokens: long },
    }),
    output_tokens: out + 1,
    ...(searches > 0 && { server_tool_use: { web_search_requests: searches } }),
  }));

const gptUsage = fc
  .record({
    fresh: tokens,
    read: tokens,
    written: tokens,
    out: tokens,
    reasoned: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  .map(({ fresh, read, written, out, reasoned }) => ({
    prompt_tokens: fresh + read + written + 1,
    completion_tokens: out + 1,
    total_tokens: fresh + read + written + out + 2,
    prompt_tokens_details: { cached_tokens: read, cache_write_tokens: written },
    completion_tokens_details: { reasoning_tokens: Math.floor(out * reasoned) },
  }));

/** The same counts by the names of the Responses API. */
const responsesUsage = gptUsage.map(
  ({ prompt_tokens, completion_tokens, prompt_tokens_details, completion_tokens_details }) => ({
    input_tokens: prompt_tokens,
    input_tokens_details: prompt_tokens_details,
    output_tokens: completion_tokens,
    output_tokens_details: completion_tokens_details,
    total_tokens: prompt_tokens + completion_tokens,
  }),
);

/** Thoughts are counted apart from the candidates, and what was cached as a part of the prompt. */
const geminiUsage = fc
  .record({ fresh: tokens, read: tokens, out: tokens, thought: tokens })
  .map(({ fresh, read, out, thought }) => ({
    promptTokenCount: fresh + read + 1,
    cachedContentTokenCount: read,
    candidatesTokenCount: out + 1,
    thoughtsTokenCount: thought,
    totalTokenCount: fresh + read + out + thought + 2,
  }));

type Provider = {
  provider: string;
  protocol: Wire;
  flavor: string;
  usage: fc.Arbitrary<object>;
  models: string[];
};

const PROVIDERS: Provider[] = [
  {
    ...{ provider: 'anthropic', protocol: 'messages', flavor: 'default', usage: claudeUsage },
    models: [
      'claude-opus-4-5',
      'claude-sonnet-4-5',
      'claude-haiku-4-5',
      'claude-sonnet-4-20250514',
    ],
  },
  {
    ...{ provider: 'openai', protocol: 'chat', flavor: 'chat', usage: gptUsage },
    models: ['gpt-5.6', 'gpt-5', 'gpt-4o', 'gpt-4.1-mini'],
  },
  {
    ...{ provider: 'openai', protocol: 'responses', flavor: 'responses', usage: responsesUsage },
    models: ['gpt-5.6', 'gpt-5', 'gpt-4o', 'gpt-4.1-mini'],
  },
  {
    ...{ provider: 'google', protocol: 'gemini', flavor: 'default', usage: geminiUsage },
    models: ['gemini-2.5-pro', 'gemini-2.5-flash', 'gemini-2.5-flash-lite'],
  },
];

const SAID = { role: 'assistant', content: 'Hi' };

/** A whole response of a provider, as it is received. */
const BODIES: Record<Wire, (model: string, usage: object) => object> = {
  chat: (model, usage) => ({
    ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model, usage },
    choices: [{ index: 0, message: SAID, finish_reason: 'stop' }],
  }),
  messages: (model, usage) => ({
    ...{ id: 'msg_1', type: 'message', role: 'assistant', model, usage },
    ...{ content: [{ type: 'text', text: 'Hi' }], stop_reason: 'end_turn' },
  }),
  responses: (model, usage) => ({
    ...{ id: 'resp_1', object: 'response', status: 'completed', model, usage },
    output: [{ type: 'message', ...SAID, content: [{ type: 'output_text', text: 'Hi' }] }],
  }),
  gemini: (model, usageMetadata) => ({
    candidates: [{ content: { role: 'model', parts: [{ text: 'Hi' }] }, finishReason: 'STOP' }],
    ...{ modelVersion: model, usageMetadata },
  }),
};

const NOW = Date.parse('2026-11-24T12:00:00Z');

/** What the router reads of a response, and what that costs, in billionths of a dollar. */
const ours = (protocol: Wire, body: object, version: PriceVersion) => {
  const request = requestOf(protocol === 'chat' ? 'messages' : 'chat');
  const events = upstreamProtocols[protocol].decodeResponse(body, request);
  const finish = events.find(({ type }) => type === 'finish');
  if (finish?.type !== 'finish') throw new Error('The response has no end.');
  const target = { prices: { versions: [version] } };
  const used = { target, usage: finish.usage, characters: 0, isFinal: true } as never;
  const model = { input_price_per_m: 0, output_price_per_m: 0 } as never;
  return billOf(used, { model, startedAt: NOW, estimateInput: () => 0 });
};

test.each(PROVIDERS)(
  'the costs of 250 random usages of $provider by $protocol are those of another price engine, to a billionth of a dollar',
  ({ provider: providerId, protocol, flavor, usage, models }: Provider) => {
    const provider = findProvider({ providerId });
    if (!provider) throw new Error('The engine does not know the provider.');
    const write = protocol === 'messages' ? 'cache_write_5m' : 'cache_write_30m';
    fc.assert(
      fc.property(usage, fc.constantFrom(...models), (sent, model) => {
        const body = BODIES[protocol](model, sent);
        const { usage: read } = extractUsage(provider, body, flavor);
        const theirs = calcPrice(read, model, { providerId, timestamp: new Date(NOW) });
        if (!theirs) throw new Error(`The engine has no price of ${model}.`);
        const bill = ours(protocol, body, versionOf(theirs.model_price as never, write));
        const isUnpriced = read.cache_write_tokens && !('cache_write_mtok' in theirs.model_price);
        expect({ model, ...bill?.cost, nanos: bill && bill.cost.nanos / 1e9 }).toMatchObject({
          ...{ model, incomplete: isUnpriced ? [expect.stringMatching(/^cache_write/)] : [] },
          nanos: expect.closeTo(theirs.total_price, 8),
        });
      }),
      { numRuns: 250 },
    );
  },
);
