import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { parseModels } from '../../lambdas/catalog/parse-models.ts';
import type { LocalRouter } from '../../local/start.ts';
import { type Billing, startBillingProvider } from '../support/billing-provider.ts';
import { post, startWatched } from '../support/local.ts';

/** Dollars a million tokens: a Claude, and a GPT above and below its threshold. */
const CLAUDE = {
  ...{ from: '2026-01-01', input: 5, output: 25, cache_read: 0.5 },
  ...{ cache_write_5m: 6.25, cache_write_1h: 10 },
  ...{
    uses: { web_search: 0.01 },
    service: { fast: 2, flex: 0.5, priority: null },
    geo: { us: 1.1 },
  },
};
const GPT = {
  ...{ from: '2026-01-01', input: 5, output: 25, cache_read: 0.5, cache_write_30m: 6.25 },
  tiers: [{ above: 272_000, input: 10, output: 37.5, cache_read: 1, cache_write_30m: 12.5 }],
  service: { flex: 0.5 },
  uses: { web_search: 0.01, file_search: 0.0025, code_interpreter: 0.03 },
};

type Case = {
  name: string;
  protocol: 'chat' | 'messages' | 'responses' | 'gemini';
  billing: Billing;
  usd: number;
  incomplete?: string[];
  source?: string;
};

const output_tokens = 500;
/** A summary that the vendor made of a conversation; it adds these to none of the counts outside. */
const COMPACTION = {
  ...{ type: 'compaction', input_tokens: 20_000, output_tokens: 3_500 },
  ...{ cache_read_input_tokens: 160_000, cache_creation_input_tokens: 0, cache_creation: null },
};
const NO_TOKENS = { ...{ input_tokens: 0, output_tokens: 0 }, cache_read_input_tokens: 0 };
const CHAT_TOKENS = { prompt_tokens: 1_000, completion_tokens: 500 };
/** A response of Gemini that searched, which costs as much at the prices of `CLAUDE`. */
const GROUNDED: Billing = { usage: { promptTokenCount: 1_000, candidatesTokenCount: 500 } };
/** What the vendors' published prices make of a usage, computed by hand. */
const CASES: Case[] = [
  {
    name: '100,000 fresh tokens of a Claude',
    protocol: 'messages',
    billing: { usage: { input_tokens: 100_000, output_tokens } },
    usd: 0.5125,
  },
  {
    name: '90 % read from a cache and 10 % written for five minutes',
    protocol: 'messages',
    billing: {
      usage: {
        ...{ input_tokens: 0, cache_read_input_tokens: 90_000, output_tokens },
        cache_creation_input_tokens: 10_000,
      },
    },
    usd: 0.12,
  },
  {
    name: '90 % read and 10 % written for an hour',
    protocol: 'messages',
    billing: {
      usage: {
        ...{ input_tokens: 0, cache_read_input_tokens: 90_000, output_tokens },
        cache_creation_input_tokens: 10_000,
        cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 10_000 },
      },
    },
    usd: 0.1575,
  },
  {
    name: 'the first turn of a cache of an hour',
    protocol: 'messages',
    billing: {
      usage: {
        ...{ input_tokens: 20, cache_creation_input_tokens: 100_000, output_tokens },
        cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 100_000 },
      },
    },
    usd: 1.0126,
  },
  {
    name: 'ten web searches',
    protocol: 'messages',
    billing: {
      usage: {
        ...{ input_tokens: 1_000, output_tokens },
        server_tool_use: { web_search_requests: 10 },
      },
    },
    usd: 0.1175,
  },
  {
    name: 'a fast answer in the region us',
    protocol: 'messages',
    billing: {
      first: { input_tokens: 100_000, speed: 'fast', inference_geo: 'us', output_tokens: 1 },
      usage: { output_tokens },
    },
    usd: 1.1275,
  },
  {
    name: 'a tier whose price is unknown',
    protocol: 'messages',
    billing: { usage: { input_tokens: 100_000, service_tier: 'priority', output_tokens } },
    usd: 0.5125,
    incomplete: ['service_tier:priority'],
  },
  {
    name: 'code that the provider ran',
    protocol: 'messages',
    billing: {
      usage: {
        ...{ input_tokens: 1_000, output_tokens },
        server_tool_use: { code_execution_requests: 2 },
      },
    },
    usd: 0.0175,
    incomplete: ['code_execution'],
  },
  {
    name: 'a response after the conversation was shortened',
    protocol: 'messages',
    billing: {
      first: { input_tokens: 23_000, output_tokens: 1, iterations: null },
      usage: {
        ...{ input_tokens: 23_000, output_tokens },
        iterations: [COMPACTION, { type: 'message', input_tokens: 23_000, output_tokens }],
      },
    },
    usd: 0.1275 + 0.2675,
  },
  {
    name: 'a conversation that was only shortened, in two summaries',
    protocol: 'messages',
    billing: {
      first: { ...NO_TOKENS, iterations: null },
      usage: { ...NO_TOKENS, iterations: [COMPACTION, COMPACTION] },
    },
    usd: 2 * 0.2675,
  },
  {
    name: 'the advice of another model',
    protocol: 'messages',
    billing: {
      usage: {
        ...{ input_tokens: 1_000, output_tokens },
        iterations: [
          { type: 'message', input_tokens: 1_000, output_tokens },
          { type: 'advisor_message', model: 'advisor', input_tokens: 800, output_tokens: 1_600 },
        ],
      },
    },
    usd: 0.0175,
    incomplete: ['advisor'],
  },
  {
    name: 'a response of the model that a vendor falls back to',
    protocol: 'messages',
    billing: {
      usage: {
        ...{ input_tokens: 1_000, output_tokens },
        iterations: [
          { type: 'message', model: 'asked', input_tokens: 1_000, output_tokens: 0 },
          { type: 'fallback_message', model: 'other', input_tokens: 1_000, output_tokens },
        ],
      },
    },
    usd: 0.0175,
    incomplete: ['fallback'],
  },
  {
    name: '80,000 tokens read and 19,000 written of a GPT',
    protocol: 'chat',
    billing: {
      usage: {
        ...{ prompt_tokens: 100_000, completion_tokens: 500 },
        prompt_tokens_details: { cached_tokens: 80_000, cache_write_tokens: 19_000 },
      },
    },
    usd: 0.17625,
  },
  {
    name: 'tokens that a gateway states as written for an hour',
    protocol: 'chat',
    billing: {
      usage: {
        ...{ prompt_tokens: 100_000, completion_tokens: 500 },
        cache_creation_input_tokens: 19_000,
        prompt_tokens_details: {
          ...{ cached_tokens: 80_000, cache_creation_tokens: 19_000 },
          cache_creation_token_details: {
            ...{ ephemeral_5m_input_tokens: 10_000, ephemeral_1h_input_tokens: 9_000 },
          },
        },
      },
    },
    usd: 0.005 + 0.04 + 0.0625 + 0.045 + 0.0125,
    incomplete: ['cache_write_1h'],
  },
  {
    name: 'a prompt above the threshold',
    protocol: 'chat',
    billing: { usage: { prompt_tokens: 300_000, completion_tokens: 500 } },
    usd: 3.01875,
  },
  {
    name: 'an answer of the tier flex',
    protocol: 'chat',
    billing: {
      usage: { prompt_tokens: 100_000, completion_tokens: 500 },
      beside: { service_tier: 'flex' },
    },
    usd: 0.25625,
  },
  {
    name: 'tools that GPT runs, of which one looks at what it found and one runs twice in its container',
    protocol: 'responses',
    billing: {
      usage: { input_tokens: 1_000, output_tokens },
      beside: {
        output: [
          { type: 'web_search_call', action: { type: 'search', queries: ['a', 'b'] } },
          { type: 'web_search_call', action: { type: 'open_page' } },
          { type: 'file_search_call', queries: ['a'] },
          { type: 'file_search_call', queries: ['b'] },
          { type: 'code_interpreter_call', container_id: 'cntr_1' },
          { type: 'code_interpreter_call', container_id: 'cntr_1' },
          { type: 'image_generation_call', action: 'generate' },
          { type: 'mcp_call' },
        ],
      },
    },
    usd: 0.0175 + 0.01 + 2 * 0.0025 + 0.03,
    incomplete: ['image_generation'],
  },
  {
    name: 'searches that GPT counts itself',
    protocol: 'responses',
    billing: {
      usage: { input_tokens: 1_000, output_tokens },
      beside: {
        output: [{ type: 'web_search_call', action: { type: 'search', queries: ['a', 'b'] } }],
        tool_usage: { web_search: { num_requests: 2 } },
      },
    },
    usd: 0.0175 + 2 * 0.01,
  },
  {
    name: 'searches of Gemini, of which one is repeated and one empty',
    protocol: 'gemini',
    billing: {
      ...GROUNDED,
      modelVersion: 'gemini-3.5-flash',
      beside: { groundingMetadata: { webSearchQueries: ['a', '', 'b', 'a'] } },
    },
    usd: 0.0375,
  },
  {
    name: 'searches of a Gemini that is billed by the prompt',
    protocol: 'gemini',
    billing: {
      ...GROUNDED,
      modelVersion: 'gemini-2.5-flash',
      beside: { groundingMetadata: { webSearchQueries: ['a', 'b'] } },
    },
    usd: 0.0275,
  },
  {
    name: 'places that Gemini found in maps',
    protocol: 'gemini',
    billing: {
      ...GROUNDED,
      modelVersion: 'gemini-3.5-flash',
      beside: { groundingMetadata: { groundingChunks: [{ maps: { placeId: 'places/1' } }] } },
    },
    usd: 0.0175,
    incomplete: ['google_maps'],
  },
  {
    name: 'searches of Gemini for pages and images, whose results are in the prompt and free',
    protocol: 'gemini',
    billing: {
      usage: { ...GROUNDED.usage, toolUsePromptTokenCount: 18_329 },
      modelVersion: 'gemini-3.5-flash',
      beside: { groundingMetadata: { webSearchQueries: ['a'], imageSearchQueries: ['b'] } },
    },
    usd: 0.0375,
  },
  {
    name: 'a page of the prompt that Gemini reads',
    protocol: 'gemini',
    billing: {
      usage: { ...GROUNDED.usage, toolUsePromptTokenCount: 10_000 },
      beside: { urlContextMetadata: { urlMetadata: [] } },
    },
    usd: 0.0175 + 0.05,
  },
  {
    name: 'a page of the prompt that Gemini reads next to a search',
    protocol: 'gemini',
    billing: {
      usage: { ...GROUNDED.usage, toolUsePromptTokenCount: 10_000 },
      beside: {
        ...{ urlContextMetadata: {}, groundingMetadata: { webSearchQueries: ['a'] } },
      },
    },
    usd: 0.0275 + 0.05,
  },
  {
    name: 'audio that a Gemini reads from its cache, next to a text',
    protocol: 'gemini',
    billing: {
      usage: {
        ...{ promptTokenCount: 2_000, cachedContentTokenCount: 1_000, candidatesTokenCount: 500 },
        promptTokensDetails: [
          { modality: 'TEXT', tokenCount: 1_000 },
          { modality: 'AUDIO', tokenCount: 1_000 },
        ],
        cacheTokensDetails: [{ modality: 'AUDIO', tokenCount: 1_000 }],
      },
    },
    usd: 0.0005 + 0.0175,
  },
  {
    name: 'a response of Gemini in the tier flex',
    protocol: 'gemini',
    billing: { usage: { ...GROUNDED.usage, serviceTier: 'flex' } },
    usd: 0.0175 / 2,
  },
  {
    name: 'a response of Gemini on Vertex in the tier priority',
    protocol: 'gemini',
    billing: { usage: { ...GROUNDED.usage, trafficType: 'ON_DEMAND_PRIORITY' } },
    usd: 0.0175,
    incomplete: ['service_tier:priority'],
  },
  {
    name: 'a response of Gemini on Vertex in its usual tier',
    protocol: 'gemini',
    billing: { usage: { ...GROUNDED.usage, trafficType: 'ON_DEMAND' } },
    usd: 0.0175,
  },
  {
    name: 'searches of a model that searches',
    protocol: 'chat',
    billing: { usage: { ...CHAT_TOKENS, num_search_queries: 3 } },
    usd: 0.0475,
  },
  {
    name: 'searches that a gateway had run',
    protocol: 'chat',
    billing: { usage: { ...CHAT_TOKENS, server_tool_use: { web_search_requests: 2 } } },
    usd: 0.0375,
  },
  {
    name: 'searches that a gateway counts among the details of the prompt',
    protocol: 'chat',
    billing: { usage: { ...CHAT_TOKENS, prompt_tokens_details: { web_search_requests: 2 } } },
    usd: 0.0375,
  },
  {
    name: 'a cost that the provider states with its parts',
    protocol: 'chat',
    billing: {
      usage: {
        ...CHAT_TOKENS,
        num_search_queries: 3,
        cost: { input_tokens_cost: 0.01, request_cost: 0.006, total_cost: 0.42 },
      },
    },
    usd: 0.42,
    source: 'stated',
  },
  {
    name: 'a cost that the provider states in another currency',
    protocol: 'responses',
    billing: {
      usage: { input_tokens: 1_000, output_tokens, cost: { currency: 'EUR', total_cost: 0.42 } },
    },
    usd: 0.0175,
  },
  {
    name: "a gateway's fee and what the provider of the operator's key bills apart",
    protocol: 'chat',
    billing: {
      usage: {
        ...{ ...CHAT_TOKENS, cost: 0.02, is_byok: true },
        cost_details: { upstream_inference_cost: 0.4 },
      },
    },
    usd: 0.42,
    source: 'stated',
  },
  {
    name: "a gateway's fee where it does not state what the provider of the operator's key bills",
    protocol: 'chat',
    billing: {
      usage: {
        ...{ ...CHAT_TOKENS, cost: 0.000_1, is_byok: true },
        cost_details: { upstream_inference_cost: null },
      },
    },
    usd: 0.0175,
  },
  {
    name: 'a cost that a gateway states whole, of which its provider has a part',
    protocol: 'chat',
    billing: {
      usage: {
        ...{ ...CHAT_TOKENS, cost: 0.42, is_byok: false },
        cost_details: { upstream_inference_cost: 0.4 },
      },
    },
    usd: 0.42,
    source: 'stated',
  },
  {
    name: 'a cost that the provider states in dollars',
    protocol: 'chat',
    billing: { usage: { prompt_tokens: 1_000, completion_tokens: 500, cost: 0.42 } },
    usd: 0.42,
    source: 'stated',
  },
  {
    name: 'a cost of zero that a gateway states for output with a price',
    protocol: 'chat',
    billing: { usage: { prompt_tokens: 1_000, completion_tokens: 500, cost: 0 } },
    usd: 0.0175,
  },
  {
    name: 'a response that breaks off after running counts with a cost of zero',
    protocol: 'chat',
    billing: {
      first: { prompt_tokens: 50_100, completion_tokens: 1, cost: 0 },
      running: { prompt_tokens: 50_100, completion_tokens: 600, cost: 0 },
      ending: 'reset',
    },
    usd: 0.2505 + 0.015,
    source: 'estimated',
  },
  {
    name: 'a cost that the provider states in ticks',
    protocol: 'chat',
    billing: {
      usage: { prompt_tokens: 1_000, completion_tokens: 500, cost_in_usd_ticks: 4_200_000_000 },
    },
    usd: 0.42,
    source: 'stated',
  },
  {
    name: 'audio without a price',
    protocol: 'chat',
    billing: {
      usage: {
        ...{ prompt_tokens: 1_000, completion_tokens: 500 },
        prompt_tokens_details: { audio_tokens: 900 },
      },
    },
    usd: 0.0175,
    incomplete: ['input_audio'],
  },
  {
    name: 'a response that breaks off after 50,100 tokens of input and its text',
    protocol: 'messages',
    billing: { first: { input_tokens: 50_100, output_tokens: 1 }, ending: 'reset' },
    // Forty characters are ten tokens.
    usd: 0.2505 + 0.000_25,
    source: 'estimated',
  },
  {
    name: 'a response of Gemini that breaks off after its first chunk, which has the tokens of the prompt',
    protocol: 'gemini',
    billing: {
      first: { promptTokenCount: 50_100, cachedContentTokenCount: 50_000, candidatesTokenCount: 1 },
      ending: 'reset',
    },
    usd: 0.0005 + 0.025 + 0.000_25,
    source: 'estimated',
  },
  {
    name: 'a response of Grok that breaks off, whose chunks all have the tokens of the prompt',
    protocol: 'chat',
    billing: {
      first: {
        ...{ prompt_tokens: 50_100, completion_tokens: 1, total_tokens: 50_101 },
        prompt_tokens_details: { cached_tokens: 50_000 },
      },
      ending: 'reset',
    },
    usd: 0.0005 + 0.025 + 0.000_25,
    source: 'estimated',
  },
  {
    name: 'a response that breaks off after its last running counts, which have the tokens of hidden reasoning',
    protocol: 'chat',
    billing: {
      first: { prompt_tokens: 50_100, completion_tokens: 1 },
      running: { prompt_tokens: 50_100, completion_tokens: 600 },
      ending: 'reset',
    },
    usd: 0.2505 + 0.015,
    source: 'estimated',
  },
  {
    name: 'a response that breaks off in the tier flex',
    protocol: 'chat',
    billing: {
      first: { prompt_tokens: 50_100, completion_tokens: 1 },
      besideFirst: { service_tier: 'flex' },
      ending: 'reset',
    },
    usd: (0.2505 + 0.000_25) / 2,
    source: 'estimated',
  },
  {
    name: 'a message that breaks off after a ping and two searches, of which one failed',
    protocol: 'messages',
    billing: {
      ...{ first: { input_tokens: 50_100, output_tokens: 1 }, pings: true },
      before: [
        { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} },
        { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] },
        {
          ...{ type: 'web_search_tool_result', tool_use_id: 'srvtoolu_2' },
          content: { type: 'web_search_tool_result_error', error_code: 'unavailable' },
        },
      ],
      ending: 'reset',
    },
    usd: 0.2505 + 0.000_25 + 0.01,
    source: 'estimated',
  },
  {
    name: 'a message that breaks off after its last running counts, which have its searches',
    protocol: 'messages',
    billing: {
      first: { input_tokens: 50_100, output_tokens: 1, service_tier: 'flex' },
      before: [{ type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] }],
      running: { output_tokens: 600, server_tool_use: { web_search_requests: 2 } },
      ending: 'reset',
    },
    usd: (0.2505 + 0.015) / 2 + 0.02,
    source: 'estimated',
  },
  {
    name: 'a message that breaks off after running counts without the search before them',
    protocol: 'messages',
    billing: {
      first: { input_tokens: 50_100, output_tokens: 1 },
      before: [{ type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] }],
      running: { output_tokens: 600 },
      ending: 'reset',
    },
    usd: 0.2505 + 0.015 + 0.01,
    source: 'estimated',
  },
  {
    name: 'a message that breaks off after a search and before its text',
    protocol: 'messages',
    billing: {
      first: { input_tokens: 50_100, output_tokens: 1 },
      before: [{ type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] }],
      ending: 'reset-before-content',
    },
    usd: 0.2505 + 0.000_025 + 0.01,
    source: 'estimated',
  },
  {
    name: 'a response of Gemini that breaks off after a search',
    protocol: 'gemini',
    billing: {
      first: { promptTokenCount: 50_100, candidatesTokenCount: 1 },
      besideFirst: { groundingMetadata: { webSearchQueries: ['a'] } },
      modelVersion: 'gemini-3.5-flash',
      ending: 'reset',
    },
    usd: 0.2505 + 0.000_25 + 0.01,
    source: 'estimated',
  },
];

const FIRST_BREAKS: Billing = {
  first: { input_tokens: 5_100, output_tokens: 1 },
  ending: 'reset-before-content',
};
const FIRST_ERRS: Billing = { ...FIRST_BREAKS, ending: 'error-before-content' };
const SERVES: Billing = {
  first: { input_tokens: 5_100, output_tokens: 1 },
  usage: { output_tokens },
};
/** A response that states its tier first, searches, and breaks off without any counts. */
const SEARCHES: Billing = {
  besideFirst: { service_tier: 'flex' },
  before: [
    { id: 'ws_1', type: 'web_search_call', status: 'completed', action: { type: 'search' } },
    { id: 'ws_2', type: 'web_search_call', status: 'completed', action: { type: 'open_page' } },
  ],
  ending: 'reset',
};
const STALLS: Billing = { first: { input_tokens: 50_100, output_tokens: 1 }, ending: 'stall' };
const STALLS_LATE: Billing = { ...STALLS, running: { output_tokens: 600 } };

const Record = z.looseObject({
  usage: z.looseObject({ cost_usd: z.number() }),
  cost_source: z.string(),
  cost_incomplete: z.array(z.string()),
  cost_by_kind: z.record(z.string(), z.object({ quantity: z.number(), cost_usd: z.number() })),
  attempts: z.array(z.looseObject({ cost_usd: z.number().optional() })),
});

let provider: Awaited<ReturnType<typeof startBillingProvider>>;
let router: LocalRouter;

const nameOf = (index: number) => `case-${index}`;
const wholeNameOf = (index: number) => `whole-${index}`;
/** The cases that end, of the protocols whose providers may not stream. */
const WHOLE = CASES.map((one, index) => ({ ...one, index })).filter(
  ({ protocol, billing }) => /chat|gemini/.test(protocol) && billing.ending === undefined,
);

beforeAll(async () => {
  const billings = Object.fromEntries(CASES.map(({ billing }, index) => [nameOf(index), billing]));
  provider = await startBillingProvider({
    ...{
      ...billings,
      ...Object.fromEntries(
        WHOLE.map(({ billing, index }) => [wholeNameOf(index), { ...billing, isWhole: true }]),
      ),
      'first-breaks': FIRST_BREAKS,
      'first-errs': FIRST_ERRS,
      serves: SERVES,
      searches: SEARCHES,
      stalls: STALLS,
      'stalls-late': STALLS_LATE,
    },
  });
  const targetOf = (model: string, protocol: Case['protocol'], upstream = 'billing') => ({
    ...{ upstream, protocol, model, secret: 'billing' },
    baseUrl: protocol === 'messages' ? provider.url : `${provider.url}/v1`,
    prices: {
      currency: 'USD',
      versions: [protocol === 'chat' || protocol === 'responses' ? GPT : CLAUDE],
    },
  });
  const modelOf = (id: string, targets: object[]) => ({
    ...{ id: `test/${id}`, display_name: id, created: 1, owned_by: 'test', targets },
    ...{ context_length: 1_000_000, max_output_tokens: 10_000 },
    ...{ streaming: true, tools: true, vision: true, input_price_per_m: 1, output_price_per_m: 2 },
  });
  router = await startWatched({
    secrets: { billing: 'a-credential-of-the-billing-provider' },
    catalog: parseModels([
      ...CASES.map(({ protocol }, index) =>
        modelOf(nameOf(index), [targetOf(nameOf(index), protocol)]),
      ),
      ...WHOLE.map(({ protocol, index }) =>
        modelOf(wholeNameOf(index), [targetOf(wholeNameOf(index), protocol)]),
      ),
      modelOf('fails-over', [
        targetOf('first-breaks', 'messages', 'first'),
        targetOf('serves', 'messages', 'second'),
      ]),
      modelOf('fails-over-at-once', [
        targetOf('first-errs', 'messages', 'first'),
        targetOf('serves', 'messages', 'second'),
      ]),
      modelOf('stalls', [targetOf('stalls', 'messages')]),
      modelOf('stalls-late', [targetOf('stalls-late', 'messages')]),
      modelOf('searches', [targetOf('searches', 'responses')]),
    ]),
  });
});

afterAll(async () => {
  await router.close();
  await provider.close();
});

const recordOf = async (id: string) => {
  const headers = { 'x-api-key': router.key };
  const response = await fetch(`${router.baseUrl}/v1/requests/${id}`, { headers });
  return Record.parse(await response.json());
};

const ask = async (model: string, stream = true) => {
  const body = { model: `test/${model}`, stream, messages: [{ role: 'user', content: 'Hi' }] };
  const response = await post(router, '/v1/chat/completions', body);
  await response.text().catch(() => '');
  return recordOf(response.headers.get('x-request-id') ?? '');
};

describe('the cost of a request', () => {
  test.each(CASES.map((one, index) => ({ ...one, index })))(
    'of $name is $usd dollars, as its provider bills it',
    async ({ index, usd, incomplete = [], source = 'priced' }) => {
      const { usage, cost_source, cost_incomplete, cost_by_kind } = await ask(nameOf(index));
      expect(usage.cost_usd).toBeCloseTo(usd, 9);
      expect({ cost_source, cost_incomplete }).toEqual({
        cost_source: source,
        cost_incomplete: incomplete,
      });
      const kinds = Object.values(cost_by_kind).reduce((sum, { cost_usd }) => sum + cost_usd, 0);
      expect(kinds).toBeCloseTo(source === 'stated' ? 0 : usd, 9);
    },
  );

  test.each([
    ['breaks off', 'fails-over', 'reset'],
    ['ends with an error in the chunk of its counts', 'fails-over-at-once', 'status'],
  ])('of an attempt that %s before its first content is its input', async (_, model, error) => {
    const { usage, cost_source, attempts } = await ask(model);
    expect(attempts).toMatchObject([{ error, cost_usd: 0.0255 + 0.000_025 }, {}]);
    expect(usage.cost_usd).toBeCloseTo(0.0255 + 0.000_025 + 0.0255 + 0.0125, 9);
    expect(cost_source).toBe('estimated');
  });

  test('of a response that breaks off without counts has the searches that ended and the factor of its tier', async () => {
    const { cost_source, cost_by_kind } = await ask('searches');
    expect(cost_source).toBe('estimated');
    expect(cost_by_kind.web_search).toEqual({ quantity: 1, cost_usd: 0.01 });
    const { quantity = 0, cost_usd = 0 } = cost_by_kind.output ?? {};
    expect([quantity, cost_usd]).toEqual([10, 10 * 12.5e-6]);
  });

  test.each([
    ['the input and what was sent', 'stalls', 0.2505 + 0.000_25],
    ['what its provider counted last', 'stalls-late', 0.2505 + 0.015],
  ])('of a stream that its caller leaves is %s', async (_, model, usd) => {
    const left = new AbortController();
    const body = {
      model: `test/${model}`,
      stream: true,
      messages: [{ role: 'user', content: 'Hi' }],
    };
    const response = await fetch(`${router.baseUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': router.key },
      body: JSON.stringify(body),
      signal: left.signal,
    });
    const id = response.headers.get('x-request-id') ?? '';
    await response.body?.getReader().read();
    left.abort();
    await expect.poll(() => recordOf(id).catch(() => undefined)).toBeDefined();
    const { usage, cost_source } = await recordOf(id);
    expect(usage.cost_usd).toBeCloseTo(usd, 9);
    expect(cost_source).toBe('estimated');
  });
});

test('usage adds up what is estimated and what is incomplete of the cost, and the kinds add up to it', async () => {
  const Sums = z.looseObject({
    cost_usd: z.number(),
    cost_estimated_usd: z.number(),
    incomplete_requests: z.number(),
    cost_by_kind: z.record(z.string(), z.object({ cost_usd: z.number() })),
  });
  const yesterday = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
  const read = async () => {
    const headers = { 'x-api-key': router.key };
    const response = await fetch(`${router.baseUrl}/v1/usage?since=${yesterday}`, { headers });
    return z.looseObject({ history: z.looseObject({ total: Sums }) }).parse(await response.json());
  };
  const { total } = (await read()).history;
  const expected = CASES.reduce((sum, { usd }) => sum + usd, 0);
  expect(total.cost_usd).toBeGreaterThanOrEqual(expected - 1e-6);
  expect(total.incomplete_requests).toBe(CASES.filter(({ incomplete }) => incomplete).length);
  expect(total.cost_estimated_usd).toBeGreaterThan(0.25);
  const kinds = Object.values(total.cost_by_kind).reduce((sum, { cost_usd }) => sum + cost_usd, 0);
  const stated = CASES.filter(({ source }) => source === 'stated').length * 0.42;
  expect(kinds).toBeCloseTo(total.cost_usd - stated, 6);
});

// After the test of the sums, which are those of the requests above.
describe('the cost of a response that its provider does not stream', () => {
  test.each(WHOLE)('of $name is $usd dollars', async ({ index, usd, incomplete = [] }) => {
    const { usage, cost_incomplete } = await ask(wholeNameOf(index), false);
    expect(usage.cost_usd).toBeCloseTo(usd, 9);
    expect(cost_incomplete).toEqual(incomplete);
  });
});
