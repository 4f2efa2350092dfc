import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { parseModels } from '../../lambdas/catalog/parse-models.ts';
import type { LocalRouter } from '../../local/start.ts';
import { startBillingProvider } from '../support/billing-provider.ts';
import { type Cells, csvRows, FOCUS, focusFaults } from '../support/focus-check.ts';
import { post, startWatched } from '../support/local.ts';
import { runCli } from '../support/run-cli.ts';
import { sharedScript } from '../support/shared-bundle.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const USAGE = {
  ...{ input_tokens: 20, cache_read_input_tokens: 90_000, output_tokens: 500 },
  cache_creation_input_tokens: 10_007,
  cache_creation: { ephemeral_5m_input_tokens: 7, ephemeral_1h_input_tokens: 10_000 },
  server_tool_use: { web_search_requests: 3 },
};
const PRICES = {
  ...{ from: '2026-01-01', input: 5, output: 25, cache_read: 0.005, cache_write_5m: 6.25 },
  ...{ cache_write_1h: 10, uses: { web_search: 0.01 } },
};
const REQUESTS = 60;
const FORMULA = '=cmd|calc';

const folder = temporaryFolder('exports');
let provider: Awaited<ReturnType<typeof startBillingProvider>>;
let router: LocalRouter;
const ids: string[] = [];

const admin = async (path: string, body?: object): Promise<unknown> => {
  const response = await fetch(`${router.baseUrl}/admin${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  return response.json();
};

const keyNamed = async (project: string, name: string): Promise<string> => {
  const created = await admin(`/projects/${project}/keys`, { plan: 'local', name });
  return z.object({ key: z.string() }).parse(created).key;
};

beforeAll(async () => {
  provider = await startBillingProvider({
    kinds: { usage: USAGE },
    stated: { usage: { prompt_tokens: 1_000, completion_tokens: 500, cost: 0.42 } },
    unpriced: { usage: { ...USAGE, server_tool_use: { code_execution_requests: 2 } } },
  });
  const modelOf = (name: string, protocol: 'chat' | 'messages') => ({
    ...{ id: `acme/${name}`, display_name: name, created: 1, owned_by: 'acme' },
    ...{ context_length: 1_000_000, max_output_tokens: 10_000 },
    ...{ streaming: true, tools: true, vision: true, input_price_per_m: 1, output_price_per_m: 2 },
    targets: [
      {
        ...{ upstream: 'acme', protocol, model: name, secret: 'acme' },
        baseUrl: protocol === 'chat' ? `${provider.url}/v1` : provider.url,
        prices: { currency: 'USD', versions: [PRICES] },
      },
    ],
  });
  router = await startWatched({
    secrets: { acme: 'a-credential-of-the-provider' },
    catalog: parseModels([
      modelOf('kinds', 'messages'),
      modelOf('stated', 'chat'),
      modelOf('unpriced', 'messages'),
    ]),
  });
  await admin('/projects', { id: 'team' });
  const keys = [router.key, await keyNamed('team', FORMULA)];
  for (let n = 0; n < REQUESTS; n += 1) {
    const model = `acme/${['kinds', 'stated', 'unpriced'][n % 3]}`;
    const body = { model, stream: true, messages: [{ role: 'user', content: 'Hi' }] };
    const response = await post(router, '/v1/chat/completions', body, {
      key: keys[n % 2] ?? '',
      headers: { 'x-router-tags': 'team=blue' },
    });
    await response.text();
    ids.push(response.headers.get('x-request-id') ?? '');
  }
  // The records of the last five seconds may still be written.
  const List = z.looseObject({ data: z.array(z.unknown()) });
  const exportable = async (project: string): Promise<number> => {
    const from = new Date(Date.now() - 3_600_000).toISOString();
    const path = `/exports/ndjson?project=${project}&from=${from}`;
    return List.parse(await admin(path)).data.length;
  };
  while ((await exportable('local')) + (await exportable('team')) < REQUESTS)
    await new Promise((resolve) => setTimeout(resolve, 200));
});

afterAll(async () => {
  await router.close();
  await provider.close();
});

const argsOf = (format: string, out: string, ...more: string[]) => [
  ...['export', '--format', format, '--from', '24h', '--out', join(folder, out)],
  ...['--url', router.baseUrl, ...more],
];

const exported = async (format: string, out: string, ...more: string[]): Promise<string> => {
  const { code, err } = await runCli(argsOf(format, out, ...more));
  expect({ code, err }).toMatchObject({ code: 0 });
  return readFileSync(join(folder, out), 'utf8');
};

const Event = z.looseObject({ id: z.string().optional(), identifier: z.string().optional() });
const linesIn = (text: string) =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => Event.parse(JSON.parse(line)));

const events = async (format: string, out: string, ...more: string[]) =>
  linesIn(await exported(format, out, ...more));

describe('the FOCUS export', () => {
  let rows: Cells[] = [];
  beforeAll(async () => {
    rows = csvRows(await exported('focus', 'focus.csv', '--account', 'acme-billing'));
  });

  test('the FOCUS export has every mandatory column of the current version, and no value that it does not allow', () => {
    expect(rows.length).toBeGreaterThan(10);
    expect(rows.flatMap(focusFaults)).toEqual([]);
    const mandatory = FOCUS.columns.filter(({ level }) => level === 'Mandatory');
    expect(mandatory).toHaveLength(22);
  });

  test('the FOCUS export has one row for each day, project, key, model and kind, and adds up to the usage', async () => {
    const names = ['ChargePeriodStart', 'SubAccountId', 'ResourceId', 'ServiceName', 'x_Kind'];
    const places = rows.map((row) => names.map((name) => row[name]).join('|'));
    expect(new Set(places).size).toBe(rows.length);
    const Total = z.looseObject({ total: z.looseObject({ cost_usd: z.number() }) });
    const { total } = Total.parse(await admin('/usage?by=project'));
    const billed = rows.reduce((sum, row) => sum + Math.round(Number(row.BilledCost) * 1e9), 0);
    expect(billed).toBe(Math.round(total.cost_usd * 1e9));
    expect(rows.map(({ x_Kind: kind }) => kind)).toEqual(
      expect.arrayContaining(['cache_write_1h', 'cache_write_5m', 'web_search', 'stated']),
    );
  });

  test('a kind without a price has no unit price, and its rows say how many requests are incomplete', () => {
    const found = rows.find(({ x_Kind: kind }) => kind === 'code_execution');
    expect(found).toMatchObject({ ListUnitPrice: '', BilledCost: '0', ContractedUnitPrice: '' });
    expect(Number(found?.x_IncompleteRequests)).toBeGreaterThan(0);
  });

  test('the name of a key is no formula', () => {
    const names = rows.map(({ ResourceName: name }) => name);
    expect(names).toContain(`'${FORMULA}`);
  });

  test.each([
    ['a cost that is null', { BilledCost: '' }],
    ['an exponent', { ListUnitPrice: '5e-06' }],
    ['a unit in lower case', { PricingUnit: 'tokens' }],
    ['no unit price', { ListUnitPrice: '' }],
    ['a wrong list cost', { ListCost: '99' }],
    ['a time without its zone', { ChargePeriodStart: '2026-11-24 00:00:00' }],
    ['no SKU price', { SkuPriceId: '' }],
    ['an unknown category', { ChargeCategory: 'Spend' }],
    ['a column of another name', { Foo: '1' }],
  ])('the check finds %s', (_, spoilt) => {
    const row = rows.find(({ x_Kind: kind }) => kind === 'output');
    expect(focusFaults({ ...row, ...spoilt })).not.toEqual([]);
  });
});

describe('usage events', () => {
  test.each(['cloudevents', 'openmeter', 'ndjson'])(
    'of the form %s are one for each request, with its id',
    async (format) => {
      const found = await events(format, `${format}.ndjson`);
      expect(found.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
    },
  );

  test('of CloudEvents and OpenMeter have the attributes that the specification requires', async () => {
    const CloudEvent = z.strictObject({
      specversion: z.literal('1.0'),
      id: z.string().min(1),
      source: z.string().min(1),
      type: z.string().min(1),
      subject: z.string().min(1),
      time: z.iso.datetime(),
      datacontenttype: z.literal('application/json'),
      data: z.record(z.string(), z.union([z.string(), z.number()])),
    });
    const found = z.array(CloudEvent).parse(await events('openmeter', 'open.ndjson'));
    const cost = found.reduce((sum, { data }) => sum + Math.round(Number(data.cost_usd) * 1e9), 0);
    const Total = z.looseObject({ total: z.looseObject({ cost_usd: z.number() }) });
    const { total } = Total.parse(await admin('/usage?by=project'));
    expect(cost).toBe(Math.round(total.cost_usd * 1e9));
    expect(new Set(found.map(({ data }) => data.tags))).toEqual(new Set(['team=blue']));
    const lines = await events('ndjson', 'tagged.ndjson');
    expect(lines.every(({ tags }) => JSON.stringify(tags) === '{"team":"blue"}')).toBe(true);
    expect(new Set(found.map(({ subject }) => subject))).toEqual(new Set(['local', 'team']));
  });

  test('of Stripe have an identifier of at most 100 characters, a customer and a whole value', async () => {
    const customers = join(folder, 'customers.json');
    writeFileSync(customers, JSON.stringify({ local: 'cus_local', team: 'cus_team' }));
    const MeterEvent = z.strictObject({
      event_name: z.literal('model_router_cost'),
      identifier: z.string().max(100),
      timestamp: z.int(),
      payload: z.strictObject({
        stripe_customer_id: z.enum(['cus_local', 'cus_team']),
        value: z.string().regex(/^[1-9]\d*$/),
      }),
    });
    const found = z
      .array(MeterEvent)
      .parse(await events('stripe', 'stripe.ndjson', '--customers', customers));
    expect(found.map(({ identifier }) => identifier).toSorted()).toEqual(
      ids.map((id) => `${id}-cost`).toSorted(),
    );
    const without = await runCli(argsOf('stripe', 'none.ndjson'));
    expect(without).toMatchObject({ code: 2, err: expect.stringContaining('--customers') });
  });

  test.each([
    ['', 'from: is required.'],
    ['?from=7d', 'from: must be a date such as 2027-01-31, or with a time: 2027-01-31T00:00:00Z.'],
    ['?from=2026-02-30', 'from: must be a date such as'],
    ['?from=2026-11-02&to=2026-11-01', 'The range must not end before it begins.'],
  ])('of the range %s are a 400 that says why', async (query, message) => {
    expect(await admin(`/exports/ndjson${query}`)).toMatchObject({
      error: { message: expect.stringContaining(message) },
    });
  });

  test('of a range that is empty, or begins in this hour, are none', async () => {
    const now = new Date().toISOString();
    for (const range of [`from=${now}`, `from=${now}&to=${now}`])
      expect(await admin(`/exports/ndjson?${range}`)).toMatchObject({ data: [] });
  });

  test('for a file that cannot be written are one line that names it', async () => {
    const { code, err } = await runCli(argsOf('ndjson', 'absent/day.ndjson'));
    expect(code).toBe(2);
    expect(err).toMatch(/^--out \S+absent\/day\.ndjson cannot be written: ENOENT.*\.\n.*--help/);
  });

  test('a run that is killed again and again, and repeated, leaves each event in the file once', async () => {
    const out = join(folder, 'killed.ndjson');
    const args = argsOf('cloudevents', 'killed.ndjson', '--limit', '3');
    const script = sharedScript('cli/main.ts');
    let kills = 0;
    for (let runs = 0; !existsSync(out) && runs < 20; runs += 1) {
      const child = spawn(process.execPath, [script, ...args], { stdio: 'ignore' });
      const ended = once(child, 'exit');
      const isWritten = () => existsSync(`${out}.partial`) || existsSync(out);
      const pages = 1 + (kills % 3);
      const before = sizeOf(`${out}.partial`);
      while (child.exitCode === null && !(isWritten() && sizeOf(`${out}.partial`) > before + pages))
        await new Promise((resolve) => setTimeout(resolve, 1));
      if (kills < 4 && child.exitCode === null) {
        // In the middle of a page, as often as between two.
        child.kill('SIGKILL');
        kills += 1;
      }
      await ended;
    }
    expect(kills).toBeGreaterThanOrEqual(3);
    const found = linesIn(readFileSync(out, 'utf8'));
    expect(found.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
    expect(existsSync(`${out}.partial`) || existsSync(`${out}.checkpoint`)).toBe(false);
  });
});

// Last: its request would be in the sums above.
test('the FOCUS export has the requests of a moment ago, and says that the days before today are complete', async () => {
  const before = await admin('/exports/focus?from=2026-01-01&project=late');
  expect(before).toMatchObject({ error: { message: "Project 'late' not found." } });
  await admin('/projects', { id: 'late' });
  const body = { model: 'acme/stated', messages: [{ role: 'user', content: 'Hi' }] };
  const key = await keyNamed('late', 'late');
  const from = new Date(Date.now() - 5 * 86_400_000).toISOString().slice(0, 10);
  expect((await post(router, '/v1/chat/completions', body, { key })).status).toBe(200);
  const found = await admin(`/exports/focus?from=${from}&project=late`);
  const final = new Date(Date.now() - 3 * 3_600_000).toISOString().slice(0, 10);
  expect(found).toMatchObject({
    data: [{ BilledCost: '0.42', SubAccountId: 'late' }],
    to: `${final}T00:00:00Z`,
  });
});

const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
