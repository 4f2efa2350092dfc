import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AdminBench, adminOn, OPERATOR } from '../../support/admin-bench.ts';
import { createUnreachableClient } from '../../support/dynamo.ts';
import { type MemoryTables, startMemory } from '../../support/memory-stores.ts';

let tables: MemoryTables;
let admin: AdminBench;
beforeAll(async () => {
  tables = await startMemory();
  admin = adminOn(tables.client);
});
afterAll(() => tables.close());

const send: AdminBench['send'] = (sent) => admin.send(sent);
const post = (path: string, body: object) => admin.post(path, body);

const envelope = (message: unknown, type = 'invalid_request_error') => ({
  error: expect.objectContaining({ type, message }),
});

describe('the operator at the REST API', () => {
  test('an operator gets one JSON response with a request id', async () => {
    const { status, headers, body } = await send({ path: '/admin/projects' });
    expect({ status, body }).toEqual({ status: 200, body: { data: [] } });
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'x-request-id': expect.stringMatching(/^req_/),
    });
  });

  test('the log line names the operator and contains nothing of the body', async () => {
    const { lines } = admin;
    lines.length = 0;
    const body = JSON.stringify({ id: 'quiet', name: 'A private name' });
    await send({ method: 'POST', path: '/admin/projects', body });
    const operator = OPERATOR;
    expect(lines).toHaveLength(2);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      event: 'admin_change',
      action: 'projects.create',
      projectId: 'quiet',
      operator,
    });
    expect(JSON.parse(lines[1] ?? '')).toMatchObject({
      event: 'request',
      route: '/admin/projects',
      status: 201,
      operator,
    });
    expect(lines.join('')).not.toContain('A private name');
  });

  test.each(['1999-12', '2100-01', '2026-13', '2026-1', '0000-01'])(
    'the month %s has no statement: it is a 400',
    async (month) => {
      await post('/admin/projects', { id: 'billed' });
      const { status, body } = await send({ path: `/admin/projects/billed/statements/${month}` });
      expect(status).toBe(400);
      expect(body).toEqual(envelope(expect.stringContaining('must be a month such as 2026-10')));
    },
  );

  test('an unknown parameter of a query is named as one of the query, and an unknown member as one of the body', async () => {
    const asked = await send({ path: '/admin/audit?colour=red' });
    expect([asked.status, asked.body]).toEqual([400, envelope('The query must not have colour.')]);
    const made = await post('/admin/projects', { id: 'a', colour: 'red' });
    expect([made.status, made.body]).toEqual([400, envelope('The body must not have colour.')]);
  });

  test('a request without an IAM identity gets 403 on every path', async () => {
    for (const path of ['/admin/projects', '/admin/nothing']) {
      const { status, body } = await send({ path, by: undefined });
      expect(status).toBe(403);
      expect(body).toEqual(envelope(expect.stringContaining('AWS credentials')));
    }
  });
});

describe('concurrent operators', () => {
  const plan = { rpm: 5, quota: 50, period: 'day' };

  test('of twelve concurrent creations of one plan one gets 201 and eleven get 409', async () => {
    const rpms = Array.from({ length: 12 }, (_, index) => index);
    const sent = await Promise.all(
      rpms.map((rpm) => post('/admin/plans', { ...plan, id: 'contested', rpm })),
    );
    const [winner, ...others] = sent.toSorted((one, other) => one.status - other.status);
    expect([winner?.status, ...others.map(({ status }) => status)]).toEqual([
      201,
      ...Array(11).fill(409),
    ]);
    const { body } = await send({ path: '/admin/plans' });
    expect(body).toEqual({ data: expect.arrayContaining([winner?.body]) });
  });

  test('of two concurrent changes of one plan none is lost: the later one gets 409', async () => {
    await post('/admin/plans', { ...plan, id: 'changed' });
    const changes: object[] = [{ rpm: 6 }, { quota: 60 }, { models: null, period: 'hour' }];
    const sent = await Promise.all(changes.map((change) => post('/admin/plans/changed', change)));
    const applied = changes.filter((_, index) => sent[index]?.status === 200);
    expect(sent.every(({ status }) => status === 200 || status === 409)).toBe(true);
    expect(applied.length).toBeGreaterThanOrEqual(1);
    const { models: _, ...expected } = Object.assign(
      { ...plan, id: 'changed', models: null },
      ...applied,
    );
    const { body } = await send({ path: '/admin/plans' });
    expect(body).toEqual({ data: expect.arrayContaining([expected]) });
  });

  test('a seed that contains one id twice is rejected', async () => {
    const twice = { ...plan, id: 'twice' };
    const { status, body } = await post('/admin/apply', { plans: [twice, { ...twice, rpm: 9 }] });
    expect(status).toBe(400);
    expect(body).toEqual(envelope('plans: must not contain an id twice.'));
  });
});

test.each([
  ...['\u001b[31mred', 'two\nrows', 'a\u0000b', 'x\u202ey', 'x\u2028y', 'x\u009by'],
  // Look-alikes of other names.
  ...[
    'te\u200bam',
    'te\u200dam',
    'te\u2060am',
    'te\u00adam',
    'te\ufe0fam',
    'te\u115fam',
    'te\u3164am',
  ],
])('a name that contains a control or invisible character is rejected: %j', async (name) => {
  const sent = await Promise.all([
    post('/admin/projects', { id: 'forged', name }),
    post('/admin/projects/forged/keys', { plan: 'p', name }),
  ]);
  for (const { status, body } of sent) {
    expect(status).toBe(400);
    expect(body).toEqual(envelope('name: must not contain control or invisible characters.'));
  }
});

test('a name may contain letters of any script and joined emoji', async () => {
  const name = 'Équipe 東京 👩‍💻 ❤️';
  const { status, body } = await post('/admin/projects', { id: 'any-script', name });
  expect([status, body]).toEqual([201, expect.objectContaining({ name })]);
});

test('a number counts by its value, as Python and other clients write it', async () => {
  const plan = '{"id":"written","rpm":60.0,"quota":1e3,"period":"day","max_wait_ms":5E+3}';
  const sent = { method: 'POST', path: '/admin/plans', body: plan };
  const stored = { rpm: 60, quota: 1_000, max_wait_ms: 5_000 };
  expect(await send(sent)).toMatchObject({ status: 201, body: stored });
  const budget = { ...sent, path: '/admin/budget', body: '{"max_usd":25.50,"period":"day"}' };
  expect(await send(budget)).toMatchObject({ status: 200, body: { max_usd: 25.5 } });
  const large = { ...sent, path: '/admin/plans/written', body: '{"rpm":1e13}' };
  expect((await send(large)).body).toEqual(envelope('rpm: must be at most 1000000000000.'));
  // The lowest of several bounds alone.
  const project = {
    ...sent,
    path: '/admin/projects',
    body: JSON.stringify({ id: 'p', max_keys: 1e13 }),
  };
  expect((await send(project)).body).toEqual(envelope('max_keys: must be at most 1000.'));
});

describe('an error in the envelope of the chat protocol', () => {
  test.each([
    ['an unknown path', { path: '/admin/nothing' }, 404, /No such path/],
    ["the router's own path", { path: '/v1/models' }, 404, /No such path/],
    ['an empty segment', { path: '/admin/projects//keys' }, 404, /No such path/],
    ['a broken escape', { path: '/admin/projects/%zz/keys' }, 404, /No such path/],
    ['a method', { method: 'DELETE', path: '/admin/projects' }, 405, /Allowed: GET, POST/],
    ['no body', { method: 'POST', path: '/admin/projects' }, 400, /body is empty/],
    ['no JSON', { method: 'POST', path: '/admin/projects', body: '{' }, 400, /not valid JSON/],
    ['an unknown field', { method: 'POST', path: '/admin/plans', body: '{"rmp":1}' }, 400, /rmp/],
  ])('%s', async (_, sent, expected, message) => {
    const { status, body } = await send(sent);
    expect(status).toBe(expected);
    expect(body).toEqual(envelope(expect.stringMatching(message)));
  });

  test('a list without its tables is a 503 that asks to retry, without their error text', async () => {
    const client = createUnreachableClient();
    const { status, body } = await adminOn(client).send({ path: '/admin/projects' });
    expect(status).toBe(503);
    expect(body).toEqual(envelope('Storage unavailable. Retry.', 'api_error'));
    client.destroy();
  });
});
