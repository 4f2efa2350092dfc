import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { listen } from '../../local/loopback.ts';
import { createRandom } from '../simulation/random.ts';
import { chatWire, messagesWire } from './translate.ts';

/** A position of the vendor's invoice: one attempt that it bills, at its own price list. */
export type Position = {
  /** The number of the caller's request. */
  number: number;
  /** Trillionths of a dollar. */
  picos: bigint;
  /** What the router has no price for, by its names. */
  unpriced: string[];
  /** The vendor has sent its counts, or will never: its prompt is then the router's estimate. */
  isCounted: boolean;
};

/** Of four characters, as the vendor's tokenizer has it: an answer that breaks off is billed for what was sent. */
const TOKEN = 'word';
export const LEAVE_AT = 'LEAVEleave';

type Ending = 'complete' | 'http' | 'error-inside' | 'reset-early' | 'reset-late' | 'stall';

const ENDINGS: [share: number, Ending][] = [
  [0.03, 'http'],
  [0.06, 'error-inside'],
  [0.09, 'reset-early'],
  [0.13, 'reset-late'],
];

type Random = ReturnType<typeof createRandom>;

const endingOf = (random: Random, leaves: boolean): Ending => {
  const drawn = random.between(0, 9_999) / 10_000;
  const ending = ENDINGS.find(([share]) => drawn < share)?.[1] ?? 'complete';
  return leaves && ending === 'complete' ? 'stall' : ending;
};

const MEGA = 1_000_000n;

/** Dollars a million tokens in trillionths of a dollar a token: exact for prices of up to six decimals. */
const picosOf = (dollars: string): bigint => {
  const [whole = '0', fraction = ''] = dollars.split('.');
  return BigInt(whole) * MEGA + BigInt(fraction.padEnd(6, '0'));
};

const SEARCH = 10_000_000_000n;

type Reply = { events: string[]; position: Omit<Position, 'number'> };

// --- messages ---

const CLAUDE = { in: '5', read: '0.5', w5: '6.25', w1: '10', out: '25' };

/** Tokens of the summary of a conversation. */
const SUMMARY = 3_500;

/** What a request uses, drawn at random. */
const drawClaude = (random: Random, ending: Ending) => {
  const maybe = (chance: number, most: number) =>
    random.chance(chance) ? random.between(1, most) : 0;
  const isWhole = ending === 'complete';
  const hasText = ending === 'reset-late' || ending === 'stall';
  const sent = isWhole ? random.between(1, 40) : hasText ? 10 : 0;
  return {
    ...{ fresh: random.between(1, 5_000), read: maybe(0.6, 180_000) },
    ...{ short: maybe(0.4, 20_000), long: maybe(0.4, 60_000) },
    tier: random.chance(0.04) ? 'priority' : 'standard',
    ...{ isFast: random.chance(0.06), isUs: random.chance(0.1) },
    sent,
    output: isWhole ? sent + random.between(0, 2_000) : Math.max(1, sent),
    // Billed are those whose results were sent.
    searches: isWhole || hasText ? maybe(0.15, 5) : 0,
    failedSearches: maybe(0.05, 2),
    // They are in the last counts only.
    runs: isWhole ? maybe(0.05, 3) : 0,
    /** Tokens of a conversation that was shortened before. */
    compacted: isWhole ? maybe(0.1, 200_000) : 0,
  };
};
type Claude = ReturnType<typeof drawClaude>;

const claudeUsage = ({ fresh, read, short, long, tier, isFast, isUs }: Claude) => ({
  ...{ input_tokens: fresh, cache_read_input_tokens: read, output_tokens: 1 },
  cache_creation_input_tokens: short + long,
  cache_creation: { ephemeral_5m_input_tokens: short, ephemeral_1h_input_tokens: long },
  service_tier: tier,
  ...(isFast && { speed: 'fast' }),
  ...(isUs && { inference_geo: 'us' }),
});

const FAILED = { type: 'web_search_tool_result_error', error_code: 'unavailable' };

/** Blocks of the results of searches, each in one event and its end. */
const resultsOf = ({ searches, failedSearches }: Claude) =>
  Array.from({ length: searches + failedSearches }, (_, index) => {
    const content = index < failedSearches ? FAILED : [];
    const tool_use_id = `srvtoolu_${index}`;
    const content_block = { type: 'web_search_tool_result', tool_use_id, content };
    return [
      { type: 'content_block_start', index, content_block },
      { type: 'content_block_stop', index },
    ];
  }).flat();

const claudeEvents = (drawn: Claude, ending: Ending): string[] => {
  const { sent, output, searches, runs, compacted } = drawn;
  const end = {
    output_tokens: output,
    ...(compacted > 0 && {
      iterations: [
        { type: 'compaction', input_tokens: compacted, output_tokens: SUMMARY },
        { type: 'message', input_tokens: drawn.fresh, output_tokens: output },
      ],
    }),
    server_tool_use: { web_search_requests: searches, code_execution_requests: runs },
  };
  const words = TOKEN.repeat(sent);
  const text = ending === 'stall' ? LEAVE_AT + words.slice(LEAVE_AT.length) : words;
  const results = resultsOf(drawn);
  const index = results.length / 2;
  const head = [
    { type: 'message_start', message: { type: 'message', usage: claudeUsage(drawn) } },
    ...results,
    { type: 'content_block_start', index, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index, delta: { type: 'text_delta', text } },
  ];
  const tail = [
    { type: 'content_block_stop', index },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: end },
    { type: 'message_stop' },
  ];
  const error = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
  const shown = {
    complete: [...head, ...tail],
    stall: head,
    'reset-late': head,
    'reset-early': head.slice(0, 1),
    'error-inside': [...head.slice(0, 1), error],
    http: [],
  }[ending];
  return shown.map((event) => messagesWire([event]));
};

const claudeReply = (random: Random, ending: Ending): Reply => {
  const drawn = drawClaude(random, ending);
  const { fresh, read, short, long, output, searches, runs, tier, isFast, isUs } = drawn;
  const summaries = drawn.compacted > 0 ? SUMMARY : 0;
  const price = (name: keyof typeof CLAUDE, count: number) => BigInt(count) * picosOf(CLAUDE[name]);
  const writes = price('w5', short) + price('w1', long);
  const input = price('in', fresh + drawn.compacted) + price('read', read) + writes;
  const tokens = input + price('out', output + summaries);
  const factored = (tokens * (isFast ? 2n : 1n) * (isUs ? 11n : 10n)) / 10n;
  // Running code is free next to a search.
  const unpriced = runs > 0 && searches === 0 ? ['code_execution'] : [];
  return {
    events: claudeEvents(drawn, ending),
    position: {
      picos: factored + BigInt(searches) * SEARCH,
      isCounted: true,
      unpriced: tier === 'priority' ? ['service_tier:priority', ...unpriced] : unpriced,
    },
  };
};

// --- chat ---

const GPT = { in: '2.5', read: '0.25', write: '3.125', out: '15' };
const GPT_LONG = { in: '5', read: '0.5', write: '6.25', out: '22.5' };

const tierAt = (drawn: number): string => {
  if (drawn < 10) return 'flex';
  return drawn < 13 ? 'priority' : 'default';
};

const drawGpt = (random: Random, ending: Ending) => {
  const isLong = random.chance(0.15);
  const prompt = isLong ? random.between(272_001, 400_000) : random.between(10, 272_000);
  const part = (chance: number, share: number) =>
    random.chance(chance) ? random.between(1, Math.floor(prompt / share)) : 0;
  const sent = ending === 'complete' ? random.between(1, 40) : 10;
  return {
    ...{ prompt, read: part(0.6, 2), write: part(0.3, 4), audio: part(0.03, 5), sent },
    output: sent + random.between(0, 3_000),
    tier: tierAt(random.between(0, 99)),
    /** Millionths of a dollar, if the vendor states its cost. */
    stated: random.chance(0.1) ? random.between(1, 3_000_000) : undefined,
    searches: random.chance(0.1) ? random.between(1, 5) : 0,
    /** Millionths of a dollar that the provider of the operator's key bills, if the vendor that states its cost has one. */
    apart: random.chance(0.3) ? random.between(1, 3_000_000) : undefined,
    ...{ isSum: random.chance(0.5), isGateway: random.chance(0.5) },
  };
};
type Gpt = ReturnType<typeof drawGpt>;

/** What a vendor states that it costs: as a number, or as a sum with its parts; with what another one bills. */
const gptStated = ({ stated = 0, apart, isSum }: Gpt) => {
  const cost = isSum ? { request_cost: 0, total_cost: stated / 1e6 } : stated / 1e6;
  return {
    ...{ cost, is_byok: apart !== undefined },
    cost_details: { upstream_inference_cost: (apart ?? stated) / 1e6 },
  };
};

const gptEvents = (drawn: Gpt, ending: Ending): string[] => {
  const { prompt, read, write, audio, sent, output, tier, stated, searches } = drawn;
  const usage = {
    ...{ prompt_tokens: prompt, completion_tokens: output, total_tokens: prompt + output },
    prompt_tokens_details: { cached_tokens: read, cache_write_tokens: write, audio_tokens: audio },
    completion_tokens_details: { reasoning_tokens: Math.floor(output / 2) },
    ...(stated !== undefined && gptStated(drawn)),
    ...(drawn.isGateway
      ? { server_tool_use: { web_search_requests: searches } }
      : { num_search_queries: searches }),
  };
  const content = ending === 'stall' ? LEAVE_AT : TOKEN.repeat(sent);
  const delta = { role: 'assistant', content };
  const said = { choices: [{ index: 0, delta, finish_reason: null }] };
  const choices = [{ index: 0, delta: {}, finish_reason: 'stop' }];
  const error = { error: { message: 'Overloaded', type: 'server_error' } };
  return {
    complete: [chatWire([said], ''), chatWire([{ choices, usage, service_tier: tier }])],
    stall: [chatWire([said], '')],
    'reset-late': [chatWire([said], '')],
    'reset-early': [],
    'error-inside': [chatWire([error], '')],
    http: [],
  }[ending];
};

/** What of a whole answer the router has no price for. */
const gptUnpriced = ({ tier, audio }: Gpt): string[] => [
  ...(tier === 'priority' ? ['service_tier:priority'] : []),
  ...(audio > 0 ? ['input_audio'] : []),
];

const gptReply = (random: Random, ending: Ending): Reply => {
  const drawn = drawGpt(random, ending);
  const { prompt, read, write, output, tier, stated, apart = 0 } = drawn;
  const sheet = prompt > 272_000 ? GPT_LONG : GPT;
  const price = (name: keyof typeof GPT, count: number) => BigInt(count) * picosOf(sheet[name]);
  const input = price('in', prompt - read - write) + price('read', read) + price('write', write);
  const full = (input + price('out', output)) / (tier === 'flex' ? 2n : 1n);
  const isCounted = ending === 'complete';
  // They are in the last counts only.
  const searches = isCounted ? BigInt(drawn.searches) * SEARCH : 0n;
  return {
    events: gptEvents(drawn, ending),
    position: {
      picos: stated === undefined ? full + searches : BigInt(stated + apart) * MEGA,
      isCounted,
      // What is not sent is not known.
      unpriced: isCounted && stated === undefined ? gptUnpriced(drawn) : [],
    },
  };
};

// --- the server ---

type Asked = { model: string; text: string; isMessages: boolean };

/** Rejects what its vendor would reject. */
const faultOf = (
  request: IncomingMessage,
  body: Record<string, unknown>,
  isMessages: boolean,
  credential: string,
) => {
  const given = isMessages ? request.headers['x-api-key'] : request.headers.authorization;
  if (given !== (isMessages ? credential : `Bearer ${credential}`)) return 401;
  if (body.stream !== true || !Array.isArray(body.messages)) return 400;
  if (isMessages)
    return body.max_tokens === undefined || !request.headers['anthropic-version'] ? 400 : undefined;
  return JSON.stringify(body.stream_options) === '{"include_usage":true}' ? undefined : 400;
};

/** Whether a vendor bills an attempt that ended so: of a chat that failed before any text it bills nothing. */
const isBilled = (ending: Ending, isMessages: boolean): boolean =>
  ending !== 'http' && (isMessages || !['error-inside', 'reset-early'].includes(ending));

const send = async (response: ServerResponse, { events }: Reply, ending: Ending): Promise<void> => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of events) {
    response.write(event);
    await new Promise((resolve) => setImmediate(resolve));
  }
  if (ending === 'reset-early' || ending === 'reset-late') response.destroy();
  else if (ending !== 'stall') response.end();
};

/** The number of a request, which callers write into their prompts, and whether its caller leaves. */
export const promptOf = (number: number, leaves: boolean): string =>
  `number=${number} ${leaves ? 'leaves' : 'stays'}`;

/**
 * Providers of both protocols that price their own log by the vendors' published rules, and write an invoice of it: lifetimes
 * of cache writes, thresholds, tiers, regions, searches, costs that they state, answers that break off.
 */
export const startInvoiceVendor = async (seed: number, credential: string) => {
  const invoice: Position[] = [];
  const rejected: number[] = [];
  const answer = async ({ model, text, isMessages }: Asked, response: ServerResponse) => {
    const [, digits = '', stays = ''] = /number=(\d+) (\w+)/.exec(text) ?? [];
    const number = Number(digits);
    const random = createRandom(
      seed +
        7_919 * number +
        ([...model].reduce((sum, char) => 31 * sum + char.charCodeAt(0), 7) % 1_000_003),
    );
    const ending = endingOf(random, stays === 'leaves');
    const reply = isMessages ? claudeReply(random, ending) : gptReply(random, ending);
    if (isBilled(ending, isMessages)) invoice.push({ number, ...reply.position });
    if (ending === 'http')
      response
        .writeHead(503, { 'content-type': 'application/json' })
        .end('{"error":{"message":"Busy"}}');
    else await send(response, reply, ending);
  };
  const server = createServer(async (request, response) => {
    const body = JSON.parse((await buffer(request)).toString());
    const isMessages = request.url === '/v1/messages';
    const fault = faultOf(request, body, isMessages, credential);
    if (fault === undefined)
      return answer(
        { model: body.model, text: JSON.stringify(body.messages), isMessages },
        response,
      );
    rejected.push(fault);
    return response
      .writeHead(fault, { 'content-type': 'application/json' })
      .end('{"error":{"message":"Invalid"}}');
  });
  const { url, close } = await listen(server);
  return { url, invoice, rejected, close };
};

/** The vendors' prices as an operator enters them; what they bill besides has none. */
export const CATALOG_PRICES = {
  messages: {
    ...{
      from: '2026-01-01',
      input: 5,
      output: 25,
      cache_read: 0.5,
      cache_write_5m: 6.25,
      cache_write_1h: 10,
    },
    ...{ uses: { web_search: 0.01 }, service: { fast: 2, priority: null }, geo: { us: 1.1 } },
  },
  chat: {
    ...{ from: '2026-01-01', input: 2.5, output: 15, cache_read: 0.25, cache_write_30m: 3.125 },
    tiers: [{ above: 272_000, input: 5, output: 22.5, cache_read: 0.5, cache_write_30m: 6.25 }],
    ...{ uses: { web_search: 0.01 }, service: { flex: 0.5, priority: null } },
  },
};
