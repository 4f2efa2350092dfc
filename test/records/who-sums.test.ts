import { expect, test } from 'vitest';
import * as z from 'zod';
import { testModels } from '../metering/test-models.ts';
import { post, useRouter } from '../support/local.ts';
import { MONTH, noonClock, TODAY } from '../support/noon.ts';
import { runCli } from '../support/run-cli.ts';

const router = useRouter({ catalog: testModels(), clock: noonClock });

const Row = z.looseObject({ charged: z.number(), cost_usd: z.number(), input_tokens: z.number() });
const Sums = z.object({ data: z.array(Row), total: Row });
const Body = z.looseObject({
  history: Sums.optional(),
  error: z.unknown().optional(),
  cost_usd: z.number().optional(),
  duration_ms: z.number().optional(),
  first_at: z.string().optional(),
  last_at: z.string().optional(),
});
type Row = z.infer<typeof Row>;

const admin = async (path: string, body?: object): Promise<unknown> => {
  const response = await fetch(`${router().baseUrl}/admin${path}`, {
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
    headers: { 'content-type': 'application/json' },
  });
  return response.json();
};

const foreignKey = async (): Promise<string> => {
  await admin('/projects', { id: 'foreign' });
  const created = await admin('/projects/foreign/keys', { plan: 'local' });
  return z.object({ key: z.string() }).parse(created).key;
};

const get = async (path: string, key = router().key) => {
  const response = await fetch(`${router().baseUrl}${path}`, { headers: { 'x-api-key': key } });
  return { status: response.status, body: Body.parse(await response.json()) };
};

const ask = async (key: string, headers: Record<string, string>, words: string) => {
  const body = { model: 'test/answers', messages: [{ role: 'user', content: `say ${words}` }] };
  const response = await post(router(), '/v1/chat/completions', body, { key, headers });
  await response.text();
  expect(response.status).toBe(200);
  return String(response.headers.get('x-request-id'));
};

const nanosOf = ({ cost_usd }: Row): number => Math.round(cost_usd * 1e9);
const sumOf = (rows: Row[]) => ({
  charged: rows.reduce((sum, row) => sum + row.charged, 0),
  nanos: rows.reduce((sum, row) => sum + nanosOf(row), 0),
  input: rows.reduce((sum, row) => sum + row.input_tokens, 0),
});

const BY = ['key', 'model', 'day', 'user', 'session', 'agent', 'client', 'tag:team', 'tag:none'];

test('sums by user, session, agent, client and tag equal those by key and the total, for callers and operators, and another project sees none', async () => {
  const { key } = router();
  const other = await foreignKey();
  const second = z
    .object({ key: z.string() })
    .parse(await admin('/projects/local/keys', { plan: 'local' })).key;
  const users = ['ann', 'bob', '=cmd()', undefined];
  const expected = new Map<string, number>();
  for (let at = 0; at < 24; at += 1) {
    const user = users[at % users.length];
    const headers = {
      ...(user && { 'x-router-user': user }),
      ...(at % 3 === 0 && { 'x-router-session': `s-${at % 2}` }),
      ...(at % 5 === 0 && { 'x-router-tags': `team=${at % 2 ? 'red' : 'blue'},cost=${at}` }),
    };
    await ask(at % 4 === 0 ? second : key, headers, 'one '.repeat(1 + at));
    expected.set(user ?? '(none)', (expected.get(user ?? '(none)') ?? 0) + 1);
  }
  await ask(other, { 'x-router-user': 'ann', 'x-router-session': 's-1' }, 'foreign');

  const sums = async (by: string, side: string) =>
    Sums.parse(
      side === 'admin'
        ? await admin(`/usage?since=${TODAY}T00:00:00Z&project=local&by=${by}`)
        : (await get(`/v1/usage?since=${TODAY}&by=${by}`)).body.history,
    );
  const { total } = await sums('key', 'caller');
  expect(total.charged).toBe(24);
  expect(total.cost_usd).toBeGreaterThan(0);
  for (const side of ['caller', 'admin']) {
    for (const by of BY) {
      const { data, total: all } = await sums(by, side);
      expect({ by, side, ...sumOf(data) }).toEqual({ by, side, ...sumOf([total]) });
      expect(all).toEqual(total);
    }
  }
  const byUser = await sums('user', 'caller');
  expect(Object.fromEntries(byUser.data.map((row) => [row.user, row.charged]))).toEqual(
    Object.fromEntries(expected),
  );
  const byTeam = (await sums('tag:team', 'caller')).data;
  expect(byTeam.map((row) => row['tag:team']).toSorted()).toEqual(['(none)', 'blue', 'red']);
  expect((await sums('tag:none', 'caller')).data.map((row) => row['tag:none'])).toEqual(['(none)']);

  const { body: foreign } = await get(`/v1/usage?since=${TODAY}&by=user`, other);
  expect(foreign.history?.data).toEqual([expect.objectContaining({ user: 'ann', charged: 1 })]);
  const statement = await admin(`/projects/local/statements/${MONTH}`);
  for (const member of ['by_key', 'by_user', 'by_session', 'by_agent', 'by_client'] as const) {
    const { [member]: rows } = z.looseObject({ [member]: z.array(Row) }).parse(statement);
    expect({ member, ...sumOf(z.array(Row).parse(rows)) }).toEqual({ member, ...sumOf([total]) });
  }
});

test('usage --by user --csv has no cell that a spreadsheet runs', async () => {
  const args = ['usage', '--since', TODAY, '--by', 'user', '--csv', '--url', router().baseUrl];
  const { out, code } = await runCli(args);
  expect(code).toBe(0);
  expect(out).toContain("'=cmd()");
  for (const cell of out.split(/[\r\n,]+/)) expect(cell).not.toMatch(/^[=+@-]./);
});

test('GET /v1/sessions/{id} sums the requests of a session of the own project, and is the same 404 for any other', async () => {
  const headers = { 'x-router-session': 'long-session' };
  await ask(router().key, headers, 'one');
  await ask(router().key, headers, 'one two three');
  const { status, body } = await get('/v1/sessions/long-session');
  expect(status).toBe(200);
  expect(body).toMatchObject({
    ...{ object: 'session', id: 'long-session', requests: 2, charged: 2, cache_share: 0 },
    is_complete: true,
  });
  expect(body.cost_usd).toBeGreaterThan(0);
  expect(body.duration_ms).toBeGreaterThan(0);
  const other = await foreignKey();
  const [foreign, unknown] = [
    await get('/v1/sessions/long-session', other),
    await get('/v1/sessions/no-session', other),
  ];
  expect([foreign.status, unknown.status]).toEqual([404, 404]);
  const text = ({ body: { error } }: typeof foreign) => JSON.stringify(error);
  expect(text(foreign)).toBe(text(unknown));
  for (const days of ['99', '0', '1.5']) {
    const rejected = await get(`/v1/sessions/x?days=${days}`);
    expect(rejected.status).toBe(400);
    expect(JSON.stringify(rejected.body)).toContain('days: must be a whole number from 1 to 35.');
  }
});
