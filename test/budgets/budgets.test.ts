import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checksAll, sample } from '../support/seeds.ts';
import { type BudgetLab, dollarsOf, ROUTES, type Route, startBudgetLab } from './lab.ts';

let lab: BudgetLab;
beforeAll(async () => {
  lab = await startBudgetLab();
});
afterAll(() => lab.close());

type Failure = {
  error: { type: string; code?: string; message: string; details?: { error_code: string } };
};

const read = async (response: Response) => {
  const text = await response.text();
  return { status: response.status, headers: response.headers, text };
};

const failureOf = async (response: Response) => {
  const body = (await response.json()) as Failure;
  const { error } = body;
  return {
    status: response.status,
    headers: response.headers,
    type: error.type,
    code: error.code ?? error.details?.error_code,
    message: error.message,
  };
};

const underBudget = async (max_usd: number, keys = 1) => {
  const project = await lab.createProject(keys);
  await lab.admin(`/projects/${project.id}/budget`, { max_usd, period: 'day' });
  lab.pass();
  return { ...project, path: `/projects/${project.id}`, key: project.keys[0] ?? '' };
};

describe('a budget of a project', () => {
  test('a budget pays what the provider bills, to the nano-dollar, and shows limit, rest and reset', async () => {
    const { key, path } = await underBudget(1);
    const before = lab.provider.invoices.length;
    const response = await read(
      await lab.ask({ key, order: 'output=50 read=0.5 write=0.2', words: 400 }),
    );
    expect(response.status).toBe(200);
    expect(response.headers.get('x-budget-limit')).toBe('1.00');
    expect(Number(response.headers.get('x-budget-remaining'))).toBeLessThan(1);
    expect(response.headers.get('x-budget-reset')).toBe('2026-11-25T00:00:00Z');
    const billed = dollarsOf(lab.provider.invoices.slice(before));
    await expect.poll(() => lab.budget(path)).toMatchObject({ spent_usd: billed, leased_usd: 0 });
  });

  test('GET /v1/usage lists the budgets of the key with limit, spent, remaining and reset', async () => {
    const { key, keyIds, path } = await underBudget(1);
    await lab.admin(`${path}/keys/${keyIds[0]}/budget`, { max_usd: 0.5, period: 'total' });
    await lab.admin(`${path}/users/budget`, { max_usd: 0.25, period: 'hour' });
    lab.pass();
    await read(await lab.ask({ key, order: 'output=50' }));
    const usage = async () => {
      const response = await fetch(`${lab.url}/v1/usage`, { headers: { 'x-api-key': key } });
      return ((await response.json()) as { budgets: object[] }).budgets;
    };
    await expect.poll(async () => (await lab.budget(path)).leased_usd).toBe(0);
    const { spent_usd } = await lab.budget(path);
    expect(spent_usd).toBeGreaterThan(0);
    const spending = { spent_usd, leased_usd: 0 };
    expect(await usage()).toEqual([
      {
        scope: 'project',
        period: 'day',
        limit_usd: 1,
        ...spending,
        remaining_usd: expect.closeTo(1 - spent_usd, 9),
        resets_at: '2026-11-25T00:00:00Z',
      },
      {
        scope: 'key',
        period: 'total',
        limit_usd: 0.5,
        ...spending,
        remaining_usd: expect.closeTo(0.5 - spent_usd, 9),
        resets_at: null,
      },
      { scope: 'user', period: 'hour', limit_usd: 0.25 },
    ]);
    await lab.admin(`${path}/budget`, { paused: true });
    expect((await usage())[0]).toMatchObject({ scope: 'project', paused: true, ...spending });
  });

  test.each(ROUTES)(
    'a budget that is used up is a 402 on %s that names it, its limit, what is spent and its reset',
    async (route) => {
      const { key, id } = await underBudget(0.06);
      for (let n = 0; n < 3; n += 1)
        await read(await lab.ask({ route, key, order: 'output=900', maxTokens: 900 }));
      const failure = await failureOf(
        await lab.ask({ route, key, order: 'output=900', maxTokens: 900 }),
      );
      expect(failure).toMatchObject({
        status: 402,
        type: 'insufficient_quota',
        code: 'budget_exceeded',
      });
      expect(failure.message).toMatch(
        new RegExp(
          `The budget of project '${id}' of \\$0\\.06 a day is used up \\(\\$0\\.0\\d\\)\\. It resets at 2026-11-25`,
        ),
      );
      expect(failure.headers.get('x-should-retry')).toBe('false');
      expect(failure.headers.get('retry-after')).toBeNull();
      expect(failure.headers.get('x-budget-reset')).toBe('2026-11-25T00:00:00Z');
      expect(failure.headers.get('x-budget-limit')).toBe('0.06');
    },
  );

  test('a budget whose rest is leased to a request in flight is a 429, and room again when that ends', async () => {
    const { key } = await underBudget(0.04);
    const running = await lab.ask({ key, order: 'output=200 pace=50' });
    const failure = await failureOf(await lab.ask({ key, maxTokens: 1_500 }));
    expect(failure).toMatchObject({
      status: 429,
      type: 'rate_limit_error',
      code: 'budget_in_flight',
    });
    expect(failure.headers.get('retry-after')).toBe('1');
    expect(failure.headers.get('x-should-retry')).toBe('true');
    await read(running);
    await expect
      .poll(async () => (await read(await lab.ask({ key, maxTokens: 1_500 }))).status)
      .toBe(200);
  });

  test('a budget smaller than a request is a 402 with the max_tokens that fit', async () => {
    const { key } = await underBudget(0.02);
    const failure = await failureOf(await lab.ask({ key, maxTokens: 4_000 }));
    expect(failure).toMatchObject({ status: 402, code: 'budget_too_small' });
    const [, fitting] = /max_tokens of (\d+)/.exec(failure.message) ?? [];
    expect((await read(await lab.ask({ key, maxTokens: Number(fitting) }))).status).toBe(200);
  });

  test('a budget rejects what has no price with a 400 that names it', async () => {
    const { key } = await underBudget(1);
    const failure = await failureOf(await lab.ask({ key, model: 'test/unpriced' }));
    expect(failure).toMatchObject({
      status: 400,
      type: 'invalid_request_error',
      code: 'budget_unpriced',
    });
    expect(failure.message).toContain('output');
    const tools = [{ type: 'web_search_20250305', name: 'web_search' }];
    const search = await failureOf(await lab.ask({ key, members: { tools } }));
    expect(search).toMatchObject({ status: 400, code: 'budget_unpriced' });
    expect(search.message).toContain('web_search');
  });

  test.each([
    ['searches of chat', '/v1/chat/completions', { web_search_options: {} }, 'web_search'],
    ['responses of another model', '/v1/messages', { fallbacks: [{ model: 'x' }] }, 'fallback'],
  ] as const)(
    'a budget rejects %s without a price that a member of the request asks for',
    async (_, route, members, name) => {
      const { key } = await underBudget(1);
      const model = route === '/v1/messages' ? 'test/messages' : 'test/chat';
      const failure = await failureOf(await lab.ask({ key, route, model, members }));
      expect(failure).toMatchObject({ status: 400, code: 'budget_unpriced' });
      expect(failure.message).toContain(name);
    },
  );

  test('a budget rejects no member that its target does not get', async () => {
    const { key } = await underBudget(1);
    const members = { fallbacks: [{ model: 'x' }] };
    expect((await read(await lab.ask({ key, model: 'test/chat', members }))).status).toBe(200);
  });

  test('a budget holds ten searches that a member of chat asks for', async () => {
    const { key } = await underBudget(0.1);
    const ask = (members: object) =>
      lab.ask({
        key,
        route: ROUTES[0],
        model: 'test/searching',
        maxTokens: 100,
        members: { ...members },
      });
    expect((await read(await ask({}))).status).toBe(200);
    const failure = await failureOf(await ask({ web_search_options: {} }));
    expect(failure).toMatchObject({ status: 402, code: 'budget_too_small' });
  });

  test('a budget leases images at the price that its target has for them', async () => {
    const { key } = await underBudget(0.1);
    const url = 'https://example.com/a.png';
    const ask = (content: object[]) =>
      lab.ask({
        ...{ key, route: ROUTES[0], model: 'test/seeing', maxTokens: 100 },
        members: { messages: [{ role: 'user', content }] },
      });
    const text = { type: 'text', text: 'some words of text' };
    expect((await read(await ask([text]))).status).toBe(200);
    const failure = await failureOf(await ask([text, { type: 'image_url', image_url: { url } }]));
    expect(failure).toMatchObject({ status: 402, code: 'budget_too_small' });
  });

  test('a budget is shared by the keys of the project, and a new key is under it', async () => {
    const { id, keys, path } = await underBudget(0.06, 3);
    const created = await lab.admin(`/projects/${id}/keys`, { plan: 'plan' });
    const all = [...keys, created.body.key];
    for (const key of all) await read(await lab.ask({ key, order: 'output=500', maxTokens: 500 }));
    const statuses = await Promise.all(
      all.map(async (key) => (await read(await lab.ask({ key, maxTokens: 1_000 }))).status),
    );
    expect(statuses).toContain(402);
    const { spent_usd } = await lab.budget(path);
    expect(spent_usd).toBeLessThanOrEqual(0.06);
  });

  test('a budget that is raised admits at once, one that is lowered denies at once, and a paused one limits nothing', async () => {
    const { key, path } = await underBudget(0.05);
    await read(await lab.ask({ key, order: 'output=900', maxTokens: 900 }));
    const status = async () => (await read(await lab.ask({ key, maxTokens: 1_000 }))).status;
    await lab.admin(`${path}/budget`, { max_usd: 0.02 });
    expect(await status()).toBe(402);
    await lab.admin(`${path}/budget`, { max_usd: 0.2 });
    expect(await status()).toBe(200);
    await lab.admin(`${path}/budget`, { max_usd: 0.02 });
    expect(await status()).toBe(402);
    await lab.admin(`${path}/budget`, { paused: true });
    expect(await status()).toBe(200);
    await lab.admin(`${path}/budget`, { paused: false });
    expect(await status()).toBe(402);
    await lab.admin(`${path}/budget/delete`, {});
    expect(await status()).toBe(200);
  });

  test('a budget begins again in its next period', async () => {
    const { key } = await underBudget(0.03);
    await read(await lab.ask({ key, order: 'output=900', maxTokens: 900 }));
    const status = async () => (await read(await lab.ask({ key, maxTokens: 900 }))).status;
    expect(await status()).toBe(402);
    lab.pass(86_400_000);
    expect(await status()).toBe(200);
  });

  // In turn: the clock goes forward only.
  test.each(sample(['2026-12-01', '2027-01-01', '2027-03-01', '2028-03-01'], 2, 1))(
    'a budget of a month is used up until the second before %s in UTC, and begins again then',
    async (border) => {
      const { key, path } = await underBudget(0.03);
      await lab.admin(`${path}/budget`, { max_usd: 0.03, period: 'month' });
      const ask = async () => read(await lab.ask({ key, order: 'output=900', maxTokens: 900 }));
      const resetsAt = `${border}T00:00:00Z`;
      lab.pass(Date.parse(resetsAt) - 1_000 - lab.clock.now());
      expect((await ask()).status).toBe(200);
      await expect.poll(async () => (await lab.budget(path)).leased_usd).toBe(0);
      const { status, headers } = await ask();
      expect([status, headers.get('x-budget-reset')]).toEqual([402, resetsAt]);
      lab.pass(1_000);
      expect((await ask()).status).toBe(200);
    },
  );
});

describe('the end of a budget', () => {
  const HOUR = 3_600_000;

  test('a request that runs over the end of its period is paid by the period that admitted it', async () => {
    const { key, keyIds, path } = await underBudget(1);
    const keyPath = `${path}/keys/${keyIds[0]}`;
    await lab.admin(`${path}/budget`, { max_usd: 1, period: 'hour' });
    await lab.admin(`${keyPath}/budget`, { max_usd: 1, period: 'total' });
    lab.pass(HOUR - (lab.clock.now() % HOUR) - 2_000);
    const before = lab.provider.invoices.length;
    const running = await lab.ask({ key, order: 'output=200 pace=50' });
    lab.pass(3_000);
    await read(running);
    await expect.poll(async () => (await lab.budget(keyPath)).leased_usd).toBe(0);
    const billed = dollarsOf(lab.provider.invoices.slice(before));
    expect(await lab.budget(keyPath)).toMatchObject({ spent_usd: billed });
    expect(await lab.budget(path)).toMatchObject({ spent_usd: 0, leased_usd: 0 });
  });

  test('a provider that bills more than was leased is paid, and the debt denies the next request', async () => {
    const { key, path } = await underBudget(0.05);
    const before = lab.provider.invoices.length;
    const order = 'output=5 counts=6';
    const response = await lab.ask({ key, order, words: 2_000, maxTokens: 200 });
    expect((await read(response)).status).toBe(200);
    const billed = dollarsOf(lab.provider.invoices.slice(before));
    expect(billed).toBeGreaterThan(0.05);
    // It ends the response, whose last tokens are estimated.
    const spent_usd = expect.closeTo(billed, 3);
    await expect.poll(() => lab.budget(path)).toMatchObject({ spent_usd, leased_usd: 0 });
    const failure = await failureOf(await lab.ask({ key, maxTokens: 10 }));
    expect(failure).toMatchObject({ status: 402, code: 'budget_exceeded' });
    expect(failure.message).toContain(`is used up ($${billed.toFixed(2)})`);
    expect(Number(failure.headers.get('x-budget-remaining'))).toBe(0);
  });

  test('a budget has one event at 50, one at 80 and one at 100 percent', async () => {
    const { key, id } = await underBudget(0.1);
    const ask = async () =>
      (await read(await lab.ask({ key, order: 'output=900', maxTokens: 900 }))).status;
    const thresholds = () =>
      lab.lines
        .map((line) => JSON.parse(line))
        .filter(({ event, projectId }) => event === 'usage_threshold' && projectId === id)
        .map(({ threshold }) => threshold);
    for (let n = 0; n < 3; n += 1) expect(await ask()).toBe(200);
    await expect.poll(thresholds).toEqual([50]);
    expect(await ask()).toBe(200);
    await expect.poll(thresholds).toEqual([50, 80]);
    expect(await ask()).toBe(402);
    await expect.poll(thresholds).toEqual([50, 80, 100]);
  });
});

const ENDS: Record<Route, RegExp> = {
  '/v1/chat/completions': /"finish_reason":"length"/,
  '/v1/messages': /"stop_reason":"max_tokens"/,
  '/v1/responses': /"reason":"max_output_tokens"/,
};

describe('a response without a further slice', () => {
  test.each(
    ROUTES.flatMap((route, row) =>
      ['test/chat', 'test/messages'].flatMap((model, column) =>
        ['output', 'tool']
          .map((what) => ({ route, model, what }))
          // In `npm test` each route, model and kind of content at least once.
          .filter((_, index) => checksAll || (column === row % 2 && index === Number(row > 0))),
      ),
    ),
  )(
    '$what from $model on $route without a further slice ends as one that is cut, and costs no more than the budget',
    async ({ route, model, what }) => {
      const { key, path } = await underBudget(0.06);
      const before = lab.provider.invoices.length;
      const tools =
        route === '/v1/messages'
          ? [{ name: 'run', input_schema: { type: 'object' } }]
          : route === '/v1/responses'
            ? [{ type: 'function', name: 'run', parameters: { type: 'object' } }]
            : [{ type: 'function', function: { name: 'run', parameters: { type: 'object' } } }];
      const { text } = await read(
        await lab.ask({
          route,
          model,
          key,
          order: `${what}=9000 pace=1 chunk=6`,
          maxTokens: 9_000,
          members: { tools },
        }),
      );
      expect(text).toMatch(ENDS[route]);
      expect(text).toMatch(/: .*budget/);
      expect(text).not.toMatch(/"tool_calls"\}|"stop_reason":"tool_use"|response\.completed/);
      await expect
        .poll(() => lab.provider.invoices.slice(before).every(({ isOver }) => isOver))
        .toBe(true);
      const invoices = lab.provider.invoices.slice(before);
      expect(dollarsOf(invoices)).toBeLessThanOrEqual(0.06);
      expect(dollarsOf(invoices)).toBeGreaterThan(0.045);
      await expect.poll(() => lab.budget(path)).toMatchObject({ leased_usd: 0 });
      // What is shown was estimated.
      expect((await lab.budget(path)).spent_usd).toBeLessThanOrEqual(0.06);
    },
  );

  test.each(ROUTES)(
    'a whole response without a further slice on %s has the header x-router-warning',
    async (route) => {
      const { key } = await underBudget(0.06);
      const response = await lab.ask({
        route,
        key,
        order: 'output=9000',
        maxTokens: 9_000,
        stream: false,
      });
      const { status, headers } = await read(response);
      expect(status).toBe(200);
      expect(headers.get('x-router-warning')).toBe('budget');
    },
  );
});

describe('what is paid', () => {
  test.each(
    sample([{ cached: 'read=0' }, { cached: 'read=0.9 write=0.1' }, { cached: 'write=0.5' }], 3, 1),
  )(
    'a failed attempt that was billed is paid with the one that answers, to the nano-dollar, at $cached',
    async ({ cached }) => {
      const { key, path } = await underBudget(1);
      const before = lab.provider.invoices.length;
      const order = `output=200 breaks=0 ${cached}`;
      const { status } = await read(
        await lab.ask({ key, model: 'test/both', order, words: 4_000 }),
      );
      expect(status).toBe(200);
      const invoices = lab.provider.invoices.slice(before);
      expect(invoices.map(({ model }) => model)).toEqual(['claude-breaking', 'claude-chat']);
      expect(invoices.every(({ nanos }) => nanos > 1_000_000)).toBe(true);
      await expect
        .poll(() => lab.budget(path))
        .toMatchObject({ spent_usd: dollarsOf(invoices), leased_usd: 0 });
    },
  );

  test.each([
    { max: 1, status: 200, copies: 2 },
    { max: 0.03, status: 502, copies: 1 },
  ])(
    'a request that its provider bills and closes a kept-alive connection on is sent again if a budget of $max dollars pays both',
    async ({ max, status, copies }) => {
      const { key, path } = await underBudget(max);
      await read(await lab.ask({ key, order: 'output=1', maxTokens: 10 }));
      const before = lab.provider.invoices.length;
      await expect.poll(async () => (await lab.budget(path)).leased_usd).toBe(0);
      const paid = (await lab.budget(path)).spent_usd;
      const response = await read(
        await lab.ask({ key, order: 'output=5 closes=1', words: 3_000, maxTokens: 200 }),
      );
      expect(response.status).toBe(status);
      const invoices = lab.provider.invoices.slice(before);
      expect(invoices).toHaveLength(copies);
      await expect.poll(async () => (await lab.budget(path)).leased_usd).toBe(0);
      const { spent_usd } = await lab.budget(path);
      expect(spent_usd - paid).toBeGreaterThanOrEqual(dollarsOf(invoices));
      expect(spent_usd).toBeLessThanOrEqual(max);
    },
  );

  test('a replayed response costs nothing', async () => {
    const { key, path } = await underBudget(1);
    const ask = async () =>
      read(await lab.ask({ key, order: 'output=50', headers: { 'idempotency-key': 'one' } }));
    const first = await ask();
    await expect.poll(async () => (await lab.budget(path)).leased_usd).toBe(0);
    const { spent_usd } = await lab.budget(path);
    const second = await ask();
    expect(second.headers.get('idempotent-replayed')).toBe('true');
    expect(second.text).toContain('of of');
    expect(first.text).toContain('of of');
    expect((await lab.budget(path)).spent_usd).toBe(spent_usd);
  });

  test('a response whose client disconnects costs what was generated until then, and its rest returns', async () => {
    const { key, path } = await underBudget(1);
    const leaving = new AbortController();
    const response = await lab.ask({ key, order: 'output=5000 pace=10', signal: leaving.signal });
    const reader = response.body?.getReader();
    for (let n = 0; n < 20; n += 1) await reader?.read();
    leaving.abort();
    await expect.poll(async () => (await lab.budget(path)).leased_usd).toBe(0);
    const { spent_usd } = await lab.budget(path);
    expect(spent_usd).toBeGreaterThan(0);
    expect(spent_usd).toBeLessThan(0.05);
  });

  test('requests of keys without a budget write no attribute of one', async () => {
    const { keys } = await lab.createProject();
    const { headers, status } = await read(await lab.ask({ key: keys[0] ?? '' }));
    expect(status).toBe(200);
    expect([...headers.keys()].filter((name) => name.startsWith('x-budget'))).toEqual([]);
  });
});

test('the doctor names the targets that have no price, once there is a budget', async () => {
  await underBudget(1);
  const { checks } = (await lab.admin('/checks')).body;
  expect(checks).toContainEqual({
    check: 'budgets',
    result: 'warning',
    place: '[3].targets[0].prices',
    reason: 'Requests under a budget do not get this target: it has no price for output.',
  });
});

describe('two budgets', () => {
  test('budgets of a key and of its project both pay, and the tighter one counts', async () => {
    const { id, keyIds, keys, path } = await underBudget(1, 2);
    const keyPath = `${path}/keys/${keyIds[0]}`;
    await lab.admin(`${keyPath}/budget`, { max_usd: 0.03, period: 'hour' });
    lab.pass();
    const ask = async (key = '') =>
      read(await lab.ask({ key, order: 'output=900', maxTokens: 900 }));
    const first = await ask(keys[0]);
    expect(first.headers.get('x-budget-limit')).toBe('0.03');
    expect((await ask(keys[0])).status).toBe(402);
    expect((await ask(keys[1])).status).toBe(200);
    const [ofKey, ofProject] = [await lab.budget(keyPath), await lab.budget(path)];
    expect(ofProject.spent_usd).toBeCloseTo(2 * ofKey.spent_usd, 6);
    const list = await lab.admin('/budgets');
    expect(list.body.data).toEqual(
      expect.arrayContaining([expect.objectContaining({ scope: 'project', id, set_by: 'local' })]),
    );
    const audit = await lab.admin(`/audit?project=${id}`);
    expect(JSON.stringify(audit.body)).toContain('budgets.set');
  });
});
