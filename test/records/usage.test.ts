import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { testModels } from '../metering/test-models.ts';
import { post, useRouter } from '../support/local.ts';
import { MONTH, noonClock, TODAY } from '../support/noon.ts';
import { runCli } from '../support/run-cli.ts';

const router = useRouter({ catalog: testModels(), plan: { quota: 4 }, clock: noonClock });

const ask = async (model: string, key = router().key): Promise<number> => {
  const messages = [{ role: 'user', content: 'say one two three' }];
  const body = { model, max_tokens: 50, messages };
  const response = await post(router(), '/v1/chat/completions', body, { key });
  await response.text();
  return response.status;
};

const Kinds = z.record(z.string(), z.object({ quantity: z.number(), cost_usd: z.number() }));
const History = z.object({
  history: z
    .object({
      from: z.string(),
      to: z.string(),
      as_of: z.string(),
      data: z.array(z.record(z.string(), z.union([z.string(), z.number(), Kinds]))),
      total: z.record(z.string(), z.union([z.number(), Kinds])),
    })
    .optional(),
});

const usage = async (query: string, key = router().key) => {
  const response = await fetch(`${router().baseUrl}/v1/usage${query}`, {
    headers: { 'x-api-key': key },
  });
  return { status: response.status, body: await response.json() };
};

const history = async (query: string, key?: string) =>
  History.parse((await usage(query, key)).body).history;

const cli = (...args: string[]) => runCli([...args, '--url', router().baseUrl]);

/** A new key of the project `local` that has a name. */
const namedKey = async (name: string): Promise<string> => {
  const body = { plan: 'local', name };
  return z.object({ key: z.string() }).parse(await created('/projects/local/keys', body)).key;
};

const created = async (path: string, body: object): Promise<unknown> => {
  const response = await fetch(`${router().baseUrl}/admin${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return response.json();
};

describe('the history of a project', () => {
  test('GET /v1/usage?since returns requests, tokens and cost of the own project by day, model or key', async () => {
    for (const model of ['test/answers', 'test/answers', 'test/refuses', 'no/such'])
      await ask(model);
    const byDay = await history(`?since=${TODAY}`);
    expect(byDay).toMatchObject({ from: TODAY, to: TODAY });
    expect(byDay?.data).toEqual([
      expect.objectContaining({ day: TODAY, charged: 2, refunded: 1, refused: 1 }),
    ]);
    expect(byDay?.total).toMatchObject({ charged: 2, refunded: 1, refused: 1 });
    expect(Number(byDay?.total.cost_usd)).toBeGreaterThan(0);
    const byModel = await history(`?since=${TODAY}&by=model`);
    expect(byModel?.data).toEqual([
      expect.objectContaining({ model: '(none)', charged: 0, refused: 1 }),
      expect.objectContaining({ model: 'test/answers', charged: 2, refused: 0 }),
      expect.objectContaining({ model: 'test/refuses', charged: 0, refunded: 1 }),
    ]);
    expect(await history('')).toBeUndefined();

    await created('/projects', { id: 'foreign' });
    const { key } = z
      .object({ key: z.string() })
      .parse(await created('/projects/foreign/keys', { plan: 'local' }));
    expect(await history(`?since=${TODAY}`, key)).toMatchObject({
      data: [],
      total: { charged: 0 },
    });
  });

  test.each([
    ['?since=yesterday', 'since: must be a day'],
    ['?since=2026-02-30', 'since: must be a day'],
    ['?since=2026-11-01+junk', 'since: must be a day'],
    ['?since=2026-11-01T10:00', 'since: must be a day'],
    ['?until=2026-01-01', 'since: missing'],
    ['?by=day', 'since: missing'],
    ['?since=2026-01-02&until=2026-01-01', 'since: must be before until'],
    ['?since=2020-01-01&until=2026-01-01', 'at most 400 days'],
    ['?since=2020-01-01', 'at most 400 days'],
    ['?since=2999-01-01', 'since: must be before until'],
    [`?since=${TODAY}&by=project`, 'by: must be day, model, key'],
  ])('GET /v1/usage%s is a 400 that names the parameter', async (query, message) => {
    const { status, body } = await usage(query);
    expect(status).toBe(400);
    expect(JSON.stringify(body)).toContain(message);
  });

  test('the first denied request of a minute is counted at once, by key and day', async () => {
    while ((await ask('test/answers')) === 200);
    await ask('test/answers');
    const byKey = await history(`?since=${TODAY}&by=key`);
    expect(byKey?.data).toEqual([expect.objectContaining({ charged: 4 })]);
    // Later ones of the same minute are written with the next minute's first.
    expect(Number(byKey?.data[0]?.refused)).toBeGreaterThanOrEqual(1);
  });
});

describe('npm run admin', () => {
  test('usage --by project prints a table, and --csv a file of all rows', async () => {
    const table = await cli('usage', '--since', '24h', '--by', 'project');
    expect(table.out).toMatch(
      /^PROJECT +CHARGED +REFUNDED .*COST USD\n(?:foreign.*\n)?local +4 +1 /,
    );
    const csv = await cli('usage', '--since', TODAY, '--csv', '--project', 'local');
    const [head, ...lines] = csv.out.trimEnd().split('\r\n');
    expect(head).toBe(
      'day,project,key,model,charged,refunded,refused,input_tokens,output_tokens,cache_read_tokens,cache_write_tokens,reasoning_tokens,cost_usd,cost_estimated_usd,incomplete_requests',
    );
    expect(lines).toContainEqual(
      expect.stringMatching(new RegExp(`^${TODAY},local,key_\\w+,test/answers,4,0,`)),
    );
    expect((await cli('usage', '--by', 'week')).code).toBe(1);
  });

  test('the admin API sums the keys that a query names, and takes a date without a time', async () => {
    const ByKey = z.object({
      data: z.array(z.looseObject({ key: z.string() })),
      total: z.object({ charged: z.number() }),
    });
    const read = async (query: string): Promise<unknown> =>
      (await fetch(`${router().baseUrl}/admin/usage?by=key&since=${TODAY}${query}`)).json();
    const [first] = ByKey.parse(await read('')).data;
    expect(ByKey.parse(await read(`&keys=${first?.key},key_unknown`)).data).toEqual([first]);
    expect(ByKey.parse(await read('&keys=key_unknown'))).toMatchObject({ total: { charged: 0 } });
    expect(await read('&until=yesterday')).toMatchObject({
      error: { message: expect.stringContaining('until: must be a date such as') },
    });
  });

  test('usage with a limit lists the highest rows, and all others as one row, so that totals stay true', async () => {
    const Rows = z.object({
      data: z.array(
        z.looseObject({ model: z.string(), charged: z.number(), cost_usd: z.number() }),
      ),
      total: z.object({ charged: z.number(), cost_usd: z.number() }),
    });
    const read = async (query: string) =>
      (await fetch(`${router().baseUrl}/admin/usage?since=${TODAY}${query}`)).json();
    const [all, top] = [
      Rows.parse(await read('&by=model')),
      Rows.parse(await read('&by=model&limit=1&sort=charged')),
    ];
    const [highest] = all.data.toSorted((one, other) => other.charged - one.charged);
    expect(all.data.length).toBeGreaterThan(2);
    expect(top.data).toMatchObject([highest, { model: '(other)' }]);
    expect(top.total).toEqual(all.total);
    for (const sum of ['charged', 'cost_usd'] as const)
      expect(top.data.reduce((of, row) => of + row[sum], 0)).toBeCloseTo(top.total[sum], 12);
    expect(await read('&limit=1')).toMatchObject({
      error: { message: expect.stringContaining('by: missing') },
    });
    const table = await cli(...'usage --by model --limit 1 --sort refused'.split(' '));
    expect(table.out).toMatch(/^MODEL.*\n\(none\) .*\n\(other\) .*\n?$/);
  });

  test.each(['user', 'session', 'agent', 'client', 'tag:team'])(
    'usage by %s of one key is a 400 that says why',
    async (by) => {
      const response = await fetch(`${router().baseUrl}/admin/usage?by=${by}&key=key_1`);
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({
        error: { param: 'by', message: expect.stringContaining('by project, not by key') },
      });
    },
  );

  test("statement prints a project's month by model and key, and that it is preliminary until the month is over", async () => {
    const { code, out } = await cli('statement', 'local', '--month', MONTH);
    expect(code).toBe(0);
    expect(out).toMatch(new RegExp(`^local, ${MONTH} \\(preliminary, as of \\d{4}-`));
    expect(out).toMatch(/by model\nMODEL +CHARGED.*test\/answers +4 /s);
    expect((await cli('statement', 'local', '--month', 'May')).code).toBe(2);
    expect((await cli('statement', 'nobody', '--month', MONTH)).err).toContain('not found');
  });

  test("usage --by key, statement and requests show a key's name next to its id", async () => {
    const key = await namedKey('Build server');
    const messages = [{ role: 'user', content: 'say one' }];
    const body = { model: 'test/answers', max_tokens: 50, messages };
    const response = await post(router(), '/v1/chat/completions', body, { key });
    await response.text();
    const id = response.headers.get('x-request-id') ?? '';
    const row = /key_\w+ +Build server +1 +0 /;
    expect((await cli('usage', '--since', TODAY, '--by', 'key')).out).toMatch(row);
    expect((await cli('statement', 'local', '--month', MONTH)).out).toMatch(row);
    expect((await cli('requests', id)).out).toMatch(/^key +key_\w+ Build server$/m);
  });
});
