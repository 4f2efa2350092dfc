import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import * as incubating from '@opentelemetry/semantic-conventions/incubating';
import { describe, expect, test } from 'vitest';
import { startBuilt, untilReady } from '../local/local-process.ts';
import { readOpenMetrics, totalOf } from '../metrics/read-open-metrics.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { startCollector } from './collector.ts';

const root = temporaryFolder('otlp');

/** Named by v0.1.0 of the GenAI conventions, which left the package for a repository of their own. */
const GENAI_NAMES = [
  'gen_ai.usage.cache_write.input_tokens',
  'gen_ai.client.inference.duration',
  'gen_ai.client.inference.time_to_first_chunk',
  'gen_ai.client.inference.usage.input_tokens',
  'gen_ai.client.inference.usage.output_tokens',
  'gen_ai.client.inference.usage.cache_read.input_tokens',
  'gen_ai.client.inference.usage.cache_write.input_tokens',
  'gen_ai.client.inference.usage.reasoning.output_tokens',
];
const REGISTRY = [...Object.values(incubating), ...GENAI_NAMES];

type Router = { baseUrl: string; key: string };
type Body = { model: string; stream: boolean };

const startOn = async (args: string[], env: Record<string, string> = {}) => {
  const child = startBuilt(['--json', '--delay', '0', ...args], env);
  const { baseUrl, key } = await untilReady(child);
  return {
    ...{ baseUrl, key },
    end: async (signal: NodeJS.Signals) => {
      child.kill(signal);
      await once(child, 'exit');
    },
  };
};

const ask = async (
  { baseUrl, key }: Router,
  content: string,
  { headers = {}, ...body }: Partial<Body> & { headers?: Record<string, string> } = {},
) => {
  const response = await fetch(`${baseUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({
      ...{ model: 'aurora/scribe-1', messages: [{ role: 'user', content }] },
      ...body,
    }),
  });
  await response.text();
  return { status: response.status, id: response.headers.get('x-request-id') ?? '' };
};

/** The sums of the records, as the admin API has them. */
const usageOf = async ({ baseUrl }: Pick<Router, 'baseUrl'>) => {
  const response = await fetch(`${baseUrl}/admin/requests?project=local&limit=100`);
  const { data } = (await response.json()) as { data: { id: string; status: number }[] };
  return data.map(({ id }) => id);
};

/** A stream that its caller leaves after the first event. */
const leave = async ({ baseUrl, key }: Router): Promise<string> => {
  const response = await fetch(`${baseUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      ...{ model: 'aurora/scribe-1', stream: true },
      messages: [{ role: 'user', content: `say ${'a '.repeat(50)}` }],
    }),
  });
  const reader = response.body?.getReader();
  await reader?.read();
  await reader?.cancel();
  return response.headers.get('x-request-id') ?? '';
};

/** What the meter, the history and the metrics have of the project. */
const countsOf = async ({ baseUrl }: Pick<Router, 'baseUrl'>) => {
  const read = async (path: string) => (await fetch(`${baseUrl}/admin${path}`)).text();
  const { total } = JSON.parse(await read('/usage?by=project')) as {
    total: { charged: number; refunded: number; input_tokens: number; output_tokens: number };
  };
  const [meter] = JSON.parse(await read('/projects/local/usage')).data as { used: number }[];
  const families = readOpenMetrics(await read('/metrics'));
  const requests = (outcome: string) =>
    totalOf(families, 'model_router_requests_total', { outcome });
  const tokens = (kind: string) => totalOf(families, 'model_router_tokens_total', { kind });
  return {
    meter: meter?.used,
    history: total,
    metrics: {
      ...{ charged: requests('charged'), refunded: requests('refunded') },
      ...{ input_tokens: tokens('input'), output_tokens: tokens('output') },
    },
  };
};

const SLOW = { timeout: 20_000 };

describe('records at an OTLP collector', () => {
  test('a collector gets each request once as a span in the trace of its caller, with its attempts below it', async () => {
    const collector = await startCollector();
    const env = { OTEL_EXPORTER_OTLP_HEADERS: 'x-team=a%20b,authorization=Bearer%20c' };
    const router = await startOn(['--otlp', collector.url], env);
    const traceId = 'a'.repeat(32);
    const traceparent = `00-${traceId}-${'b'.repeat(16)}-01`;
    const { id } = await ask(router, 'say hello', { stream: true, headers: { traceparent } });
    await expect.poll(() => collector.requests().length, SLOW).toBe(1);
    const span = collector
      .requests()
      .find((one) => collector.attributesOf(one)['model_router.request.id'] === id);
    if (!span) throw new Error('The request has no span.');
    expect(span).toMatchObject({ traceId, parentSpanId: 'b'.repeat(16), kind: 3 });
    expect(span.name).toBe('chat aurora/scribe-1');
    expect(collector.attributesOf(span)).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'aurora/scribe-1',
      'gen_ai.request.stream': true,
      'gen_ai.response.id': id.replace('req_', 'chatcmpl-'),
      'gen_ai.response.finish_reasons': { values: [{ stringValue: 'stop' }] },
      'http.response.status_code': '200',
      'model_router.project': 'local',
      'model_router.charged_units': '1',
      'server.port': '443',
    });
    const calls = collector.spans().filter(({ parentSpanId }) => parentSpanId === span.spanId);
    expect(calls).toHaveLength(1);
    expect(calls[0]?.traceId).toBe(traceId);
    expect(collector.headers[0]).toMatchObject({ 'x-team': 'a b', authorization: 'Bearer c' });
    expect(collector.faults).toEqual([]);
    await router.end('SIGTERM');
  });

  test('input includes what was read from a cache, a failure and a refusal have their reasons, and the address is that of the provider', async () => {
    const collector = await startCollector();
    const router = await startOn(['--otlp', collector.url]);
    const model = 'borealis/swift-2';
    const prompt = 'cached 3\nthink of it\nsay hello';
    const { id } = await ask(router, prompt, { model, stream: true });
    await ask(router, 'fault status=400', { model });
    await ask(router, 'x', { headers: { 'idempotency-key': 'ä' } });
    await expect.poll(() => collector.requests().length, SLOW).toBe(3);
    const spans = collector.requests();
    const [answered, failed, refused] = ['finished', 'failed', 'refused'].map((outcome) => {
      const span = spans.find(
        (one) => collector.attributesOf(one)['model_router.outcome'] === outcome,
      );
      return { status: span?.status, of: span ? collector.attributesOf(span) : {} };
    });
    const headers = { authorization: `Bearer ${router.key}` };
    const response = await fetch(`${router.baseUrl}/v1/requests/${id}`, { headers });
    const { usage, first_content_ms: firstMs } = (await response.json()) as {
      usage: Record<string, number>;
      first_content_ms: number;
    };
    expect(usage.input_tokens).toBeGreaterThan(3);
    expect(answered?.of).toMatchObject({
      'gen_ai.usage.input_tokens': `${usage.input_tokens}`,
      'gen_ai.usage.output_tokens': `${usage.output_tokens}`,
      'gen_ai.usage.cache_read.input_tokens': '3',
      'gen_ai.response.time_to_first_chunk': firstMs / 1_000,
      'server.address': 'messages.upstream.example',
      'model_router.cost.nanodollars': `${Math.round((usage.cost_usd ?? 0) * 1e9)}`,
    });
    expect(failed).toMatchObject({
      status: { code: 2 },
      of: {
        'gen_ai.response.finish_reasons': { values: [{ stringValue: 'error' }] },
        'error.type': expect.stringMatching(/./),
        'model_router.reason': expect.stringMatching(/./),
        'model_router.charged_units': '0',
      },
    });
    const message = expect.stringContaining('Idempotency-Key');
    expect(refused?.status).toMatchObject({ code: 2, message });
    expect(collector.faults).toEqual([]);
    await router.end('SIGTERM');
  });

  test('every name that a collector gets is of the pinned conventions or begins with model_router', async () => {
    const collector = await startCollector();
    const router = await startOn(['--otlp', collector.url]);
    await ask(router, 'say hello', { stream: true });
    await ask(router, 'fault status=500');
    await expect.poll(() => collector.requests().length, SLOW).toBe(2);
    await expect.poll(() => collector.total('model_router.requests'), SLOW).toBe(2);
    const foreign = collector.names().filter((name) => !name.startsWith('model_router.'));
    expect(foreign.filter((name) => !REGISTRY.includes(name))).toEqual([]);
    await router.end('SIGTERM');
  });

  test('a collector that was away has in the end what the meter, the history and the metrics have, after kills, failures and streams that were left', async () => {
    const collector = await startCollector();
    const folder = join(root, 'kept');
    let key = '';
    const ids: string[] = [];
    for (const round of [0, 1, 2]) {
      collector.answerWith(
        round === 1
          ? (response) => response.writeHead(503, { 'retry-after': '1' }).end()
          : (response) => response.destroy(),
      );
      const router = await startOn(['--otlp', collector.url, '--data', folder]);
      key ||= router.key;
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, index) =>
          ask({ ...router, key }, index % 3 === 0 ? 'fault status=500' : 'say hello'),
        ),
      );
      ids.push(...answers.map(({ id }) => id), await leave({ ...router, key }));
      await expect.poll(async () => (await usageOf(router)).length, SLOW).toBe(ids.length);
      await router.end('SIGKILL');
    }
    collector.answerWith(undefined);
    const router = await startOn(['--otlp', collector.url, '--data', folder]);
    await expect.poll(() => collector.requests().length, SLOW).toBe(ids.length);
    const exported = collector
      .requests()
      .map((span) => collector.attributesOf(span)['model_router.request.id']);
    expect(exported.toSorted()).toEqual(ids.toSorted());
    await expect.poll(() => collector.total('model_router.requests'), SLOW).toBe(ids.length);
    const { meter, history, metrics } = await countsOf(router);
    expect(history.refunded).toBeGreaterThan(0);
    expect(metrics).toEqual({
      ...{ charged: history.charged, refunded: history.refunded },
      ...{ input_tokens: history.input_tokens, output_tokens: history.output_tokens },
    });
    expect({
      charged: collector.total('model_router.charged_units'),
      input_tokens: collector.total('gen_ai.client.inference.usage.input_tokens'),
      output_tokens: collector.total('gen_ai.client.inference.usage.output_tokens'),
    }).toEqual({
      charged: meter,
      ...{ input_tokens: history.input_tokens, output_tokens: history.output_tokens },
    });
    expect(history.charged).toBe(meter);
    expect(collector.faults).toEqual([]);
    await router.end('SIGTERM');
  });

  test('an address of a collector that is no URL ends the start with one line', async () => {
    const child = startBuilt(['--otlp', 'localhost:4318x']);
    const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
    expect(code).toBe(1);
    expect(said).toContain("Invalid --otlp 'localhost:4318x'");
  });

  test.each(['authorization=%zz', 'authorization=x%0Ay', 'a b=c'])(
    'headers of a collector that are %s end the start with one line and do not repeat the value',
    async (headers) => {
      const child = startBuilt(['--otlp', 'http://127.0.0.1:4318'], {
        OTEL_EXPORTER_OTLP_HEADERS: `x-team=ok,${headers}`,
      });
      const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
      expect(code).toBe(1);
      const [name = ''] = headers.split('=');
      expect(said).toBe(
        `OTEL_EXPORTER_OTLP_HEADERS: Invalid header '${name}' of the OTLP collector: must be a header's name and its percent-encoded value, e.g. authorization=Bearer%20KEY.\n`,
      );
    },
  );
});
