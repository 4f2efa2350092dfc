import { readFile } from 'node:fs/promises';
import * as z from 'zod';
import { messageOf, usageError } from './cli-error.ts';
import { type Api, resultsIn } from './provider-api.ts';

/** What a provider bills for one kind of a model on a UTC day. The quantity is undefined where it states money only. */
export type Billed = {
  day: string;
  model: string;
  kind: string;
  quantity?: number | undefined;
  /** Billionths of a US dollar; undefined where it states a quantity only. */
  nanos?: number | undefined;
};

type Month = { from: Date; to: Date };

const nanosOf = (dollars: number): number => Math.round(dollars * 1e9);

// --- Anthropic ---

const AnthropicUsage = z.object({
  model: z.string().nullish(),
  uncached_input_tokens: z.number().default(0),
  cache_read_input_tokens: z.number().default(0),
  cache_creation: z
    .object({
      ephemeral_1h_input_tokens: z.number().default(0),
      ephemeral_5m_input_tokens: z.number().default(0),
    })
    .nullish(),
  output_tokens: z.number().default(0),
  server_tool_use: z.object({ web_search_requests: z.number().default(0) }).nullish(),
});

const AnthropicCost = z.object({
  /** Cents. */
  amount: z.string(),
  cost_type: z.string().nullish(),
  description: z.string().nullish(),
  model: z.string().nullish(),
  token_type: z.string().nullish(),
});

const TOKEN_TYPES: Record<string, string> = {
  uncached_input_tokens: 'input',
  output_tokens: 'output',
  cache_read_input_tokens: 'cache_read',
  'cache_creation.ephemeral_5m_input_tokens': 'cache_write_5m',
  'cache_creation.ephemeral_1h_input_tokens': 'cache_write_1h',
};

/** Of searches and code the cost report has no model: they are compared for all models together. */
export const ANY_MODEL = '(any)';

type DayOf<R> = { day: string; result: R };

const anthropicUsage = ({ day, result }: DayOf<z.infer<typeof AnthropicUsage>>): Billed[] => {
  const { model, cache_creation: writes, server_tool_use: uses } = result;
  const kinds: Record<string, number | undefined> = {
    input: result.uncached_input_tokens,
    cache_read: result.cache_read_input_tokens,
    cache_write_5m: writes?.ephemeral_5m_input_tokens,
    cache_write_1h: writes?.ephemeral_1h_input_tokens,
    output: result.output_tokens,
  };
  const tokens = Object.entries(kinds).map(([kind, quantity]) => ({
    ...{ day, model: model ?? ANY_MODEL, kind, quantity },
  }));
  const searches = uses?.web_search_requests;
  return [...tokens, { day, model: ANY_MODEL, kind: 'web_search', quantity: searches }].filter(
    ({ quantity = 0 }) => quantity > 0,
  );
};

const anthropicCost = ({ day, result }: DayOf<z.infer<typeof AnthropicCost>>): Billed => {
  const { amount, cost_type: type, model, token_type: tokens, description } = result;
  const kind = TOKEN_TYPES[tokens ?? ''] ?? tokens ?? type ?? description ?? 'other';
  return { day, model: model ?? ANY_MODEL, kind, nanos: nanosOf(Number(amount) / 100) };
};

async function* readAnthropic(api: Api, { from, to }: Month): AsyncGenerator<Billed, void, void> {
  const base = '/v1/organizations';
  const range = `starting_at=${from.toISOString()}&ending_at=${to.toISOString()}&bucket_width=1d&limit=31`;
  const usage = `${base}/usage_report/messages?${range}&group_by[]=model`;
  for await (const each of resultsIn(api, usage, AnthropicUsage)) yield* anthropicUsage(each);
  const cost = `${base}/cost_report?${range}&group_by[]=description`;
  for await (const each of resultsIn(api, cost, AnthropicCost)) yield anthropicCost(each);
}

// --- OpenAI ---

const OpenAiUsage = z.object({
  model: z.string().nullish(),
  input_tokens: z.number().default(0),
  input_cached_tokens: z.number().default(0),
  output_tokens: z.number().default(0),
});

const OpenAiCost = z.object({
  amount: z.object({ value: z.coerce.number() }).nullish(),
  line_item: z.string().nullish(),
});

const LINE_KINDS: Record<string, string> = {
  input: 'input',
  'cached input': 'cache_read',
  output: 'output',
};

/** `gpt-5.5-2026-04-23, cached input`, `priority | gpt-5.6-sol, output, long context`, `web search tool calls`. */
const lineItemOf = (item: string): { model: string; kind: string } => {
  const [head = '', ...rest] = item.split(',').map((part) => part.trim());
  if (rest.length === 0) {
    return { model: ANY_MODEL, kind: head.startsWith('web search') ? 'web_search' : head };
  }
  const [model = '', modality] = (head.split('|').at(-1) ?? '').trim().split(' ');
  const kind = LINE_KINDS[rest[0] ?? ''] ?? rest[0] ?? '';
  return { model, kind: modality && modality !== 'text' ? `${kind}_${modality}` : kind };
};

const openAiUsage = ({ day, result }: DayOf<z.infer<typeof OpenAiUsage>>): Billed[] => {
  const { model, input_tokens: input, input_cached_tokens: cached, output_tokens: output } = result;
  const of = { day, model: model ?? ANY_MODEL };
  return [
    { ...of, kind: 'input', quantity: input - cached },
    { ...of, kind: 'cache_read', quantity: cached },
    { ...of, kind: 'output', quantity: output },
  ].filter(({ quantity }) => quantity > 0);
};

async function* readOpenAi(api: Api, { from, to }: Month): AsyncGenerator<Billed, void, void> {
  const base = '/v1/organization';
  const seconds = (date: Date) => Math.floor(date.getTime() / 1_000);
  const range = `start_time=${seconds(from)}&end_time=${seconds(to)}&bucket_width=1d&limit=31`;
  const usage = `${base}/usage/completions?${range}&group_by[]=model`;
  for await (const each of resultsIn(api, usage, OpenAiUsage)) yield* openAiUsage(each);
  const costs = `${base}/costs?${range}&group_by[]=line_item`;
  for await (const { day, result } of resultsIn(api, costs, OpenAiCost)) {
    const { amount, line_item: item } = result;
    if (amount) yield { day, ...lineItemOf(item ?? 'other'), nanos: nanosOf(amount.value) };
  }
}

// --- an invoice ---

const INVOICE = ['day', 'model', 'kind', 'quantity', 'cost_usd'];

/** Lines of a CSV file with the columns of `INVOICE`; a quantity may be empty. @throws CliError 2 */
export const readInvoice = async (file: string): Promise<Billed[]> => {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw usageError(`Cannot read ${file}: ${messageOf(cause)}.`, { cause });
  });
  const [head = '', ...lines] = text.split(/\r?\n/).filter((line) => line.trim() !== '');
  if (head.trim() !== INVOICE.join(',')) {
    throw usageError(
      `${file} must begin with the line ${INVOICE.join(',')} (got '${head.slice(0, 100)}').`,
    );
  }
  return lines.map((line, index) => {
    const cells = line.split(',').map((cell) => cell.trim().replace(/^"(.*)"$/, '$1'));
    const [day = '', model = '', kind = '', quantity = '', cost = ''] = cells;
    const dollars = Number(cost);
    const isRow = cells.length === INVOICE.length && /^\d{4}-\d\d-\d\d$/.test(day);
    if (!isRow || Number.isNaN(dollars)) {
      throw usageError(`${file}, line ${index + 2}: must be ${INVOICE.join(',')}.`);
    }
    const nanos = nanosOf(dollars);
    return { day, model, kind, nanos, ...(quantity !== '' && { quantity: Number(quantity) }) };
  });
};

// --- providers ---

type Provider = {
  /** Environment variables of its admin credential, and of its address in place of `baseUrl`. */
  credential: string;
  address: string;
  baseUrl: string;
  headersOf(credential: string): Record<string, string>;
  read(api: Api, month: Month): AsyncGenerator<Billed, void, void>;
};

export const PROVIDERS: Record<string, Provider> = {
  anthropic: {
    credential: 'ANTHROPIC_ADMIN_KEY',
    address: 'ANTHROPIC_BASE_URL',
    baseUrl: 'https://api.anthropic.com',
    headersOf: (credential) => ({ 'x-api-key': credential, 'anthropic-version': '2023-06-01' }),
    read: readAnthropic,
  },
  openai: {
    credential: 'OPENAI_ADMIN_KEY',
    address: 'OPENAI_BASE_URL',
    baseUrl: 'https://api.openai.com',
    headersOf: (credential) => ({ authorization: `Bearer ${credential}` }),
    read: readOpenAi,
  },
};
