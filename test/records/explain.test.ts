import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { testModels } from '../metering/test-models.ts';
import { startOnDynamo } from '../support/dynamo-stores.ts';
import { CANARIES } from '../support/leak-watch.ts';
import { post, startWatched, useStarted } from '../support/local.ts';
import { runCli } from '../support/run-cli.ts';
import { heldIn, scanTables } from '../support/scan-tables.ts';

const models = () => {
  const [first, ...rest] = testModels();
  if (!first) throw new Error('There are no models.');
  const [target] = first.targets;
  if (!target) throw new Error('The model has no target.');
  const second = { ...target, upstream: 'second', model: 'answers' };
  return [
    { ...first, cached_input_price_per_m: 0.1 },
    { ...first, id: 'test/fails-over', targets: [{ ...target, model: 'x!status=503' }, second] },
    ...rest,
  ];
};

const router = useStarted(() => startOnDynamo({ catalog: models() }, startWatched));

const Explained = z.looseObject({
  id: z.string(),
  status: z.number(),
  outcome: z.string(),
  charged: z.boolean(),
  whose_fault: z.string(),
  attempts: z.array(z.looseObject({ upstream: z.string(), error: z.string().optional() })),
  timeline: z.array(z.string()),
  usage: z.record(z.string(), z.number()),
});

type Asked = { model: string; stream?: boolean; path?: string; headers?: Record<string, string> };

/** Sends one generation to its end and returns its id, and the response. */
const askWhole = async ({
  model,
  stream = false,
  path = '/v1/chat/completions',
  headers,
}: Asked) => {
  const turns = [{ role: 'user', content: `${CANARIES.prompt} say one two three four five` }];
  const conversation =
    path === '/v1/responses' ? { input: turns } : { max_tokens: 50, messages: turns };
  const body = { model, stream, ...conversation };
  const response = await post(router(), path, body, { ...(headers && { headers }) });
  return { text: await response.text(), id: response.headers.get('x-request-id') ?? '' };
};

const ask = async (asked: Asked) => (await askWhole(asked)).id;

const get = (path: string, key = router().key): Promise<Response> =>
  fetch(`${router().baseUrl}${path}`, { headers: { 'x-api-key': key } });

const explained = async (id: string) => {
  const response = await get(`/v1/requests/${id}`);
  expect(response.status).toBe(200);
  return Explained.parse(await response.json());
};

const admin = async (method: string, path: string, body?: object): Promise<unknown> => {
  const response = await fetch(`${router().baseUrl}/admin${path}`, {
    method,
    headers: { 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  expect(response.status).toBeLessThan(300);
  return response.json();
};

/** A key of another project. */
const foreignKey = async (): Promise<string> => {
  await admin('POST', '/apply', { projects: [{ id: 'foreign' }] });
  const created = await admin('POST', '/projects/foreign/keys', { plan: 'local' });
  return z.object({ key: z.string() }).parse(created).key;
};

describe('an explained request', () => {
  test.each([
    ['/v1/chat/completions', false, 'chat'],
    ['/v1/messages', true, 'messages'],
    ['/v1/responses', false, 'responses'],
    ['/v1/responses', true, 'responses'],
  ])(
    'GET /v1/requests/{id} explains a finished request of %s (streamed: %s) with tokens, cost and charge',
    async (path, stream, protocol) => {
      const id = await ask({ model: 'test/answers', path, stream });
      const record = await explained(id);
      expect(record).toMatchObject({
        id,
        project: 'local',
        model: 'test/answers',
        protocol,
        streamed: stream,
        status: 200,
        outcome: 'finished',
        error: null,
        charged: true,
        charged_why: 'charged: the response finished',
        whose_fault: 'none',
        why_target: 'It is the only one of its model.',
      });
      expect(record.attempts).toHaveLength(1);
      const { input_tokens: input = 0, output_tokens: output = 0, cost_usd: cost } = record.usage;
      expect(input * output).toBeGreaterThan(0);
      expect(cost).toBeCloseTo((input * 0.6 + output * 2.2) / 1e6, 9);
    },
  );

  test.each(['/v1/chat/completions', '/v1/messages', '/v1/responses'])(
    'a request of %s is found by the id of its response, by its project and by operators alone',
    async (path) => {
      const { id, text } = await askWhole({ model: 'test/answers', path });
      const ofResponse = z.object({ id: z.string() }).parse(JSON.parse(text)).id;
      expect(ofResponse).not.toBe(id);
      expect((await explained(ofResponse)).id).toBe(id);
      expect((await get(`/v1/requests/${ofResponse}`, await foreignKey())).status).toBe(404);
      const shown = await runCli(['requests', ofResponse, '--url', router().baseUrl]);
      expect(shown.out).toContain(id);
    },
  );

  test("a message's id that a vendor's follows, as in answers with diagnostics, finds its request", async () => {
    const id = await ask({ model: 'test/answers', path: '/v1/messages' });
    const ofMessage = `${id.replace('req_', 'msg_')}_01AbCdEf`;
    expect((await explained(ofMessage)).id).toBe(id);
  });

  test('GET /v1/requests/{id} names each attempt of a request that failed over, with status and time', async () => {
    const { attempts, charged, timeline } = await explained(
      await ask({ model: 'test/fails-over' }),
    );
    expect(charged).toBe(true);
    expect(attempts).toMatchObject([{ error: 'status', status: 503 }, { upstream: 'second' }]);
    expect(timeline.join('\n')).toMatch(/failed: status 503.*second sent its first content/s);
  });

  test.each([
    ['test/refuses', false, 503, 'not charged: the request failed'],
    ['test/breaks', true, 200, 'not charged: the request failed'],
  ])(
    'GET /v1/requests/{id} blames the provider for %s (streamed: %s) and returns that it is free',
    async (model, stream, status, why) => {
      expect(await explained(await ask({ model, stream }))).toMatchObject({
        status,
        outcome: 'failed',
        charged: false,
        charged_why: why,
        whose_fault: 'provider',
      });
    },
  );

  test("GET /v1/requests/{id} is a 404 for another project's request and for unknown ids", async () => {
    const id = await ask({ model: 'test/answers' });
    expect((await get(`/v1/requests/${id}`, await foreignKey())).status).toBe(404);
    for (const one of ['req_000000000000000000000000', 'req_', '..', `${id}x`]) {
      const { status } = await get(`/v1/requests/${encodeURIComponent(one)}`);
      expect({ one, status }).toEqual({ one, status: 404 });
    }
  });

  test("GET /v1/requests/{id} keeps the caller's traceparent if it is well-formed", async () => {
    const traceparent = `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`;
    const kept = await ask({ model: 'test/answers', headers: { traceparent } });
    expect(await explained(kept)).toMatchObject({ traceparent });
    const odd = await ask({ model: 'test/answers', headers: { traceparent: 'tell me a story' } });
    expect(await explained(odd)).toMatchObject({ traceparent: null });
  });
});

test('the records and history tables hold no prompt, response, key or credential', async () => {
  await ask({ model: 'test/answers', stream: true });
  await ask({ model: 'test/refuses' });
  const tables = await scanTables(router().endpoints.dynamo);
  expect(tables.records).toContain('req_');
  const secrets = [CANARIES.prompt, CANARIES.upstreamKey, 'three four', router().key];
  expect(heldIn(tables, secrets)).toEqual([]);
});

describe('npm run admin -- requests', () => {
  const cli = (...args: string[]) => runCli([...args, '--url', router().baseUrl]);

  test('requests ID prints what happened, whose fault it was, the charge, the next step and a timeline', async () => {
    const id = await ask({ model: 'test/refuses' });
    const { code, out } = await cli('requests', id);
    expect(code).toBe(0);
    expect(out).toMatch(
      /^what {5}The provider failed\.\nfault {4}provider\ncharged {2}not charged/,
    );
    expect(out).toContain('docs/operations.md#no-healthy-target');
    expect(out).toMatch(/\n {2}\+0 ms {2}received for test\/refuses over chat\n/);
    expect(await cli('requests', 'req_unknown')).toMatchObject({
      code: 1,
      err: expect.stringContaining('not found'),
    });
  });

  test('requests list has the name of each key, and the time of the first content', async () => {
    const created = await admin('POST', '/projects/local/keys', { plan: 'local', name: 'nightly' });
    const { key } = z.object({ key: z.string() }).parse(created);
    const headers = { authorization: `Bearer ${key}` };
    const id = await ask({ model: 'test/answers', headers });
    const Row = z.looseObject({ id: z.string() });
    const { data } = z.object({ data: z.array(Row) }).parse(await admin('GET', '/requests'));
    expect(data.find((row) => row.id === id)).toMatchObject({
      key_name: 'nightly',
      first_content_ms: expect.any(Number),
    });
  });

  test('requests list filters by project, key, status and time, the newest first, in pages', async () => {
    const ids = [await ask({ model: 'test/answers' }), await ask({ model: 'test/refuses' })];
    const key = z
      .object({ key_id: z.string() })
      .parse(await (await get('/v1/usage')).json()).key_id;
    const Page = z.object({
      data: z.array(z.object({ id: z.string(), status: z.number(), created_at: z.string() })),
      next_cursor: z.string().nullable(),
    });
    const list = async (query: string) => Page.parse(await admin('GET', `/requests?${query}`));
    const all = await list('project=local&limit=1000');
    expect(all.data.map(({ id }) => id)).toEqual(expect.arrayContaining(ids));
    const times = all.data.map(({ created_at: at }) => at);
    expect(times).toEqual(times.toSorted().toReversed());
    const paged: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const page: z.infer<typeof Page> = await list(
        `limit=2${cursor && `&cursor=${encodeURIComponent(cursor)}`}`,
      );
      paged.push(...page.data.map(({ id }) => id));
      cursor = page.next_cursor;
    }
    // Requests without a known key are of no project.
    const unfiltered = await list('limit=1000');
    expect(paged).toEqual(unfiltered.data.map(({ id }) => id));
    const failed = await list(`key=${key}&status=5xx&limit=1000`);
    expect(failed.data.every(({ status }) => status === 503)).toBe(true);
    expect(failed.data.map(({ id }) => id)).toContain(ids[1]);
    expect((await list('key=key_unknown')).data).toEqual([]);
    const { out } = await cli(
      'requests',
      '--project',
      'local',
      '--status',
      'failed',
      '--since',
      '1h',
    );
    expect(out).toContain(ids[1]);
    expect(out).not.toContain(ids[0]);
    expect((await cli('requests', 'list', '--status', 'odd')).err).toContain('status: must be');
  });
});
