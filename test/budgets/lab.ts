import type { Model } from '../../lambdas/catalog/catalog.ts';
import { createLog } from '../../lambdas/support/log.ts';
import type { LocalStores } from '../../local/local-stores.ts';
import { startLocal } from '../../local/start.ts';
import { createManualClock } from '../support/manual-clock.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { BREAKING, type Invoice, PRICES, startMeteredProvider } from './metered-provider.ts';

const NOON = Date.parse('2026-11-24T12:00:05Z');
export const ROUTES = ['/v1/chat/completions', '/v1/messages', '/v1/responses'] as const;
export type Route = (typeof ROUTES)[number];

/** Models on the provider, one of each protocol, one that fails over, and one with a kind without a price. */
export const modelsAt = (url: string): Model[] => {
  const target = (protocol: 'chat' | 'messages', extra = {}) =>
    targetAt(url, {
      upstream: protocol,
      protocol,
      model: `claude-${protocol}`,
      prices: PRICES,
      profile: { cacheMarks: 'off' },
      ...extra,
    });
  const [version] = PRICES.versions;
  const searching = { ...PRICES, versions: [{ from: '', ...version, uses: { web_search: 0.01 } }] };
  const speaking = { ...PRICES, versions: [{ from: '', ...version, output_audio: 100 }] };
  const seeing = { ...PRICES, versions: [{ from: '', ...version, input_image: 500 }] };
  const unpriced = { ...PRICES, versions: [{ from: '2026-01-01', input: 5, output: null }] };
  return [
    modelOn([target('chat')], { id: 'test/chat' }),
    modelOn([target('messages')], { id: 'test/messages' }),
    modelOn(
      [
        target('messages', { upstream: 'first', model: BREAKING }),
        target('chat', { upstream: 'second' }),
      ],
      { id: 'test/both' },
    ),
    modelOn([target('messages', { upstream: 'unpriced', prices: unpriced })], {
      id: 'test/unpriced',
    }),
    modelOn([target('chat', { prices: searching })], { id: 'test/searching' }),
    modelOn([target('chat', { prices: speaking })], { id: 'test/speaking' }),
    modelOn([target('chat', { prices: seeing })], { id: 'test/seeing', vision: true }),
  ];
};

export type Asked = {
  route?: Route;
  model?: string;
  key: string;
  /** What the provider does: `output=2000 pace=1`. */
  order?: string;
  /** Words of the prompt. */
  words?: number;
  maxTokens?: number;
  stream?: boolean;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  members?: Record<string, unknown>;
};

/** The same request on each route. */
const askAt = (
  url: string,
  { route = '/v1/messages', model = 'test/messages', key, order = '', words = 10, ...asked }: Asked,
): Promise<Response> => {
  const { maxTokens = 4_000, stream = true, headers, signal, members } = asked;
  const turns = [{ role: 'user', content: `${'some words of text '.repeat(words / 4)} ${order}` }];
  const body =
    route === '/v1/responses'
      ? { input: turns, max_output_tokens: maxTokens }
      : { messages: turns, max_tokens: maxTokens };
  return fetch(`${url}${route}`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model, stream, ...body, ...members }),
    ...(signal && { signal }),
  });
};

/** What these tests read of the admin API's responses. */
type Answer = Budget & {
  id: string;
  key: string;
  data: Record<string, unknown>[];
  checks: Record<string, unknown>[];
};
type Budget = { spent_usd: number; leased_usd: number; remaining_usd: number };

/** The real router and admin API on a provider that keeps its own invoices. */
export const startBudgetLab = async (stores?: LocalStores) => {
  const clock = createManualClock(NOON);
  const provider = await startMeteredProvider();
  const lines: string[] = [];
  const router = await startLocal({
    catalog: modelsAt(provider.url),
    secrets: { secret: 'credential' },
    clock,
    log: createLog((line) => lines.push(line)),
    ...(stores && { stores }),
  });
  const admin = async (path: string, body?: object) => {
    const response = await fetch(`${router.baseUrl}/admin${path}`, {
      method: body ? 'POST' : 'GET',
      headers: { 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as Answer };
  };
  await admin('/plans', { id: 'plan', rpm: 1_000_000, quota: 1_000_000, period: 'month' });
  let projects = 0;
  return {
    clock,
    provider,
    lines,
    admin,
    url: router.baseUrl,
    ask: (asked: Asked, url = router.baseUrl) => askAt(url, asked),
    /** A new project with some keys. */
    createProject: async (keys = 1) => {
      projects += 1;
      const id = `team-${projects}`;
      await admin('/projects', { id });
      const created = await Promise.all(
        Array.from({ length: keys }, () => admin(`/projects/${id}/keys`, { plan: 'plan' })),
      );
      return {
        id,
        keys: created.map(({ body }) => body.key),
        keyIds: created.map(({ body }) => body.id),
      };
    },
    budget: async (path: string): Promise<Budget> => (await admin(`${path}/budget`)).body,
    /** Caches of keys and plans are read again. */
    pass: (ms = 16_000) => clock.advance(ms),
    close: async () => {
      await router.close();
      await provider.close();
    },
  };
};

export type BudgetLab = Awaited<ReturnType<typeof startBudgetLab>>;

export const dollarsOf = (invoices: Invoice[]): number =>
  invoices.reduce((sum, { nanos }) => sum + nanos, 0) / 1e9;
