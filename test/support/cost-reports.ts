import { createServer, type IncomingMessage } from 'node:http';
import { listen } from '../../local/loopback.ts';

/** What a provider has billed. */
export type Line = { day: string; model: string; kind: string; quantity: number; usd: number };

const DAY_MS = 86_400_000;
/** Buckets of a page, fewer than the reports allow. */
const PER_PAGE = 9;

const daysOf = (from: number, to: number): string[] =>
  Array.from({ length: Math.round((to - from) / DAY_MS) }, (_, index) =>
    new Date(from + index * DAY_MS).toISOString().slice(0, 10),
  );

const modelsOf = (lines: Line[]): string[] => [...new Set(lines.map(({ model }) => model))];

const TOKEN_TYPES: Record<string, string> = {
  input: 'uncached_input_tokens',
  output: 'output_tokens',
  cache_read: 'cache_read_input_tokens',
  cache_write_5m: 'cache_creation.ephemeral_5m_input_tokens',
  cache_write_1h: 'cache_creation.ephemeral_1h_input_tokens',
};

const anthropicUsage = (lines: Line[]) =>
  modelsOf(lines).map((model) => {
    const of = (kind: string) =>
      lines
        .filter((line) => line.model === model && line.kind === kind)
        .reduce((sum, { quantity }) => sum + quantity, 0);
    return {
      uncached_input_tokens: of('input'),
      cache_creation: {
        ephemeral_1h_input_tokens: of('cache_write_1h'),
        ephemeral_5m_input_tokens: of('cache_write_5m'),
      },
      cache_read_input_tokens: of('cache_read'),
      output_tokens: of('output'),
      server_tool_use: { web_search_requests: of('web_search') },
      ...{ api_key_id: null, workspace_id: null, model, service_tier: null, context_window: null },
    };
  });

const anthropicCost = (lines: Line[]) =>
  lines.map(({ model, kind, usd }) => {
    const tokenType = TOKEN_TYPES[kind] ?? null;
    return {
      currency: 'USD',
      // Cents, as a decimal text.
      amount: String(Number((usd * 100).toFixed(9))),
      ...{ workspace_id: null, description: `${model} Usage - ${kind}`, context_window: null },
      cost_type: tokenType === null ? kind : 'tokens',
      model: tokenType === null ? null : model,
      ...{ service_tier: tokenType === null ? null : 'standard', token_type: tokenType },
    };
  });

const openAiUsage = (lines: Line[]) =>
  modelsOf(lines).map((model) => {
    const of = (kind: string) =>
      lines
        .filter((line) => line.model === model && line.kind === kind)
        .reduce((sum, { quantity }) => sum + quantity, 0);
    return {
      object: 'organization.usage.completions.result',
      input_tokens: of('input') + of('cache_read'),
      input_cached_tokens: of('cache_read'),
      output_tokens: of('output'),
      ...{ input_audio_tokens: 0, output_audio_tokens: 0, num_model_requests: 1 },
      ...{ project_id: null, user_id: null, api_key_id: null, model, batch: null },
    };
  });

const LINE_KINDS: Record<string, string> = { cache_read: 'cached input' };

const openAiCosts = (lines: Line[]) =>
  lines.map(({ model, kind, usd }) => ({
    object: 'organization.costs.result',
    amount: { value: usd, currency: 'usd' },
    line_item: `${model}, ${LINE_KINDS[kind] ?? kind}`,
    project_id: null,
  }));

type Asked = { url: URL; headers: IncomingMessage['headers'] };

/** A page of buckets of a day each; those without usage are empty. */
const pageOf = (days: string[], { url }: Asked, bucketOf: (day: string) => object) => {
  const at = Number(url.searchParams.get('page')?.replace('page_', '') ?? 0);
  const isLast = at + PER_PAGE >= days.length;
  return {
    data: days.slice(at, at + PER_PAGE).map(bucketOf),
    has_more: !isLast,
    next_page: isLast ? null : `page_${at + PER_PAGE}`,
  };
};

/** What is wrong with a request by the published reference; undefined for a valid one. */
const faultOf = ({ url, headers }: Asked, credential: string): string | undefined => {
  const { searchParams: query, pathname } = url;
  const isOpenAi = pathname.startsWith('/v1/organization/');
  if (
    isOpenAi
      ? headers.authorization !== `Bearer ${credential}`
      : headers['x-api-key'] !== credential
  )
    return 'authentication_error';
  if (!isOpenAi && headers['anthropic-version'] !== '2023-06-01')
    return 'anthropic-version: required';
  if (query.get('bucket_width') !== '1d') return 'bucket_width: 1d';
  if (Number(query.get('limit')) > 31) return 'limit: at most 31';
  const start = query.get(isOpenAi ? 'start_time' : 'starting_at') ?? '';
  return (isOpenAi ? /^\d+$/ : /^\d{4}-\d\d-\d\dT00:00:00/).test(start)
    ? undefined
    : 'start: required';
};

const reportOf = (lines: Line[], asked: Asked): object | undefined => {
  const { pathname, searchParams: query } = asked.url;
  const group = query.get('group_by[]');
  const anthropic = (resultsOf: (lines: Line[]) => object[]) => {
    const days = daysOf(
      Date.parse(query.get('starting_at') ?? ''),
      Date.parse(query.get('ending_at') ?? ''),
    );
    return pageOf(days, asked, (day) => ({
      starting_at: `${day}T00:00:00Z`,
      ending_at: `${day}T24:00:00Z`,
      results: resultsOf(lines.filter((line) => line.day === day)),
    }));
  };
  const openAi = (resultsOf: (lines: Line[]) => object[]) => {
    const [from, to] = [
      Number(query.get('start_time')) * 1_000,
      Number(query.get('end_time')) * 1_000,
    ];
    const page = pageOf(daysOf(from, to), asked, (day) => ({
      object: 'bucket',
      start_time: Date.parse(day) / 1_000,
      end_time: Date.parse(day) / 1_000 + 86_400,
      results: resultsOf(lines.filter((line) => line.day === day)),
    }));
    return { object: 'page', ...page };
  };
  switch (`${pathname} ${group}`) {
    case '/v1/organizations/usage_report/messages model':
      return anthropic(anthropicUsage);
    case '/v1/organizations/cost_report description':
      return anthropic(anthropicCost);
    case '/v1/organization/usage/completions model':
      return openAi(openAiUsage);
    case '/v1/organization/costs line_item':
      return openAi(openAiCosts);
    default:
      return undefined;
  }
};

/**
 * The usage and cost reports of two vendors, in the forms that they publish (platform.claude.com/docs/en/api/admin,
 * platform.openai.com/docs/api-reference/usage), of what `lines` has: as strict as they are.
 */
export const startCostReports = async (lines: () => Line[], credential: string) => {
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://reports');
    const asked = { url, headers: request.headers };
    const fault = faultOf(asked, credential);
    const report = fault === undefined ? reportOf(lines(), asked) : { error: { message: fault } };
    const status =
      fault === undefined ? (report ? 200 : 404) : fault === 'authentication_error' ? 401 : 400;
    response
      .writeHead(status, { 'content-type': 'application/json' })
      .end(JSON.stringify(report ?? {}));
  });
  return listen(server);
};
