import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { mintKey, startOf } from '../../lambdas/keys/api-key.ts';
import { testModels } from '../metering/test-models.ts';
import { startOnDynamo } from '../support/dynamo-stores.ts';
import { CANARIES } from '../support/leak-watch.ts';
import { post, startWatched, useStarted } from '../support/local.ts';
import { runCli } from '../support/run-cli.ts';
import { heldIn, scanTables } from '../support/scan-tables.ts';

const models = () => {
  const short = testModels().map((model) => ({
    ...model,
    id: 'test/short',
    context_length: 1_000,
  }));
  return [...testModels(), ...short.slice(0, 1)];
};

const router = useStarted(() => startOnDynamo({ catalog: models() }, startWatched));

const PATH = '/v1/chat/completions';
const BODY = { model: 'test/answers', messages: [{ role: 'user', content: CANARIES.prompt }] };

const Refused = z.looseObject({
  status: z.number(),
  what: z.string(),
  next: z.string(),
  rule: z.looseObject({ name: z.string(), limit: z.number().nullable() }),
});

/** Sends a request that is refused, and returns its id and its status. */
const refuse = async (body: unknown, key = router().key, path = PATH) => {
  const response = await post(router(), path, body, { key });
  await response.text();
  return { id: response.headers.get('x-request-id') ?? '', status: response.status };
};

const get = async (path: string, key?: string) => {
  const headers = key === undefined ? {} : { 'x-api-key': key };
  return fetch(router().baseUrl + path, { headers });
};

/** The record is written behind the response. */
const read = async (path: string, key?: string) => {
  await expect.poll(async () => (await get(path, key)).status).toBe(200);
  return Refused.parse(await (await get(path, key)).json());
};

const explained = (id: string, key = router().key) => read(`/v1/requests/${id}`, key);
const byOperator = (id: string) => read(`/admin/requests/${id}`);

const created = async (plan: object): Promise<string> => router().createKey({ plan });

describe('a refused request', () => {
  test.each([
    {
      name: 'a field that is out of range',
      body: { ...BODY, temperature: 7 },
      status: 400,
      expected: {
        rule: { name: 'temperature', value: 7 },
        what: /^temperature: must be at most 2\.$/,
      },
    },
    {
      name: 'an unknown model',
      body: { ...BODY, model: 'no/such' },
      status: 400,
      expected: { rule: { name: 'model' }, what: /'no\/such'/, next: /GET \/v1\/models/ },
    },
    {
      name: 'a prompt that is longer than the context',
      body: {
        model: 'test/short',
        messages: [{ role: 'user', content: 'one two '.repeat(5_000) }],
      },
      status: 400,
      expected: { rule: { name: 'context_length', limit: 1_000 }, next: /Shorten/ },
    },
    {
      name: 'a body that is too large',
      body: { ...BODY, messages: [{ role: 'user', content: 'x'.repeat(5_600_000) }] },
      status: 413,
      expected: { rule: { name: 'body_bytes', limit: 5_500_000 }, next: /smaller body/ },
    },
  ])('of $name is a $status that names the rule, the value and what to do', async (asked) => {
    const { id, status } = await refuse(asked.body);
    expect(status).toBe(asked.status);
    const found = await explained(id);
    const { rule, ...texts } = asked.expected;
    expect(found).toMatchObject({ id, status, outcome: 'refused', charged: false });
    expect(found.rule).toMatchObject(rule);
    for (const [member, text] of Object.entries(texts)) expect(found[member]).toMatch(text);
  });

  test.each([
    { plan: { quota: 0 }, status: 402, rule: { name: 'requests_per_month', limit: 0 } },
    { plan: { rpm: 0 }, status: 429, rule: { name: 'requests_per_minute', limit: 0 } },
    { plan: { models: [] }, status: 400, rule: { name: 'model' } },
  ])('of the plan $plan is a $status with the limit', async ({ plan, status, rule }) => {
    const key = await created(plan);
    const refused = await refuse(BODY, key);
    expect(refused.status).toBe(status);
    expect((await explained(refused.id, key)).rule).toMatchObject(rule);
    expect((await byOperator(refused.id)).rule).toMatchObject(rule);
  });

  test('of a key with too many rejected requests names that limit', async () => {
    const key = await created({ rpm: 1 });
    let last = { id: '', status: 0 };
    // Sixty are answered, of which ten have a record; the minute may end in between.
    for (let n = 0; n < 140 && last.status !== 429; n += 1) last = await refuse({}, key);
    expect(last.status).toBe(429);
  });

  test('without a valid key is found by operators only, by the first characters of the key', async () => {
    const key = mintKey(randomBytes);
    const { id, status } = await refuse(BODY, key);
    expect(status).toBe(401);
    expect(await byOperator(id)).toMatchObject({
      key: startOf(key),
      project: '',
      whose_fault: 'caller',
    });
    expect((await get(`/v1/requests/${id}`, router().key)).status).toBe(404);
  });

  test('on an unknown path is found by operators', async () => {
    const { id, status } = await refuse(BODY, router().key, '/v1/nothing');
    expect(status).toBe(404);
    const { what } = z.object({ what: z.string() }).parse(await byOperator(id));
    const paths = what.match(/\/v1[^,]*(?=[,.])/g) ?? [];
    expect(paths.length).toBeGreaterThan(10);
    expect(paths).toEqual([...new Set(paths)]);
  });

  test('of another project does not exist', async () => {
    const { id } = await refuse({ ...BODY, temperature: 7 });
    await explained(id);
    const headers = { 'content-type': 'application/json' };
    const operate = async (path: string, body: object): Promise<unknown> =>
      (
        await fetch(`${router().baseUrl}/admin${path}`, {
          ...{ method: 'POST', headers, body: JSON.stringify(body) },
        })
      ).json();
    await operate('/projects', { id: 'foreign' });
    const { key } = z
      .object({ key: z.string() })
      .parse(await operate('/projects/foreign/keys', { plan: 'local' }));
    expect((await get(`/v1/requests/${id}`, key)).status).toBe(404);
  });

  test('a refused request is printed with its rule, and listed by its outcome', async () => {
    const { id } = await refuse({ ...BODY, temperature: 7 });
    await explained(id);
    const cli = (...args: string[]) => runCli([...args, '--url', router().baseUrl]);
    const { out } = await cli('requests', id);
    expect(out).toMatch(/^what {5}temperature: must be at most 2\.$/m);
    expect(out).toMatch(/^rule {5}temperature, got 7$/m);
    const listed = await cli('requests', 'list', '--project', 'local', '--status', 'refused');
    expect(listed.out).toContain(id);
  });

  test('leaves no text of the caller and no key in a table', async () => {
    const quoting = [
      { ...BODY, tools: [CANARIES.prompt, CANARIES.prompt].map(toolNamed) },
      { ...BODY, model: `a model and ${CANARIES.prompt}` },
      { ...BODY, [CANARIES.prompt]: 1, stream: CANARIES.prompt },
    ];
    for (const body of quoting) expect((await refuse(body)).status).toBe(400);
    const { id } = await refuse(BODY, `${router().key}x`);
    await byOperator(id);
    const tables = await scanTables(router().endpoints.dynamo);
    expect(heldIn(tables, [CANARIES.prompt, router().key])).toEqual([]);
  });
});

const toolNamed = (name: string) => ({ type: 'function', function: { name, parameters: {} } });
