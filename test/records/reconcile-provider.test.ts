import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { parseModels } from '../../lambdas/catalog/parse-models.ts';
import type { LocalRouter } from '../../local/start.ts';
import { startBillingProvider } from '../support/billing-provider.ts';
import { type Line, startCostReports } from '../support/cost-reports.ts';
import { startEmbeddedSecrets } from '../support/embedded-secrets.ts';
import { post, startWatched } from '../support/local.ts';
import { MONTH, noonClock, TODAY } from '../support/noon.ts';
import { type Ended, runCli, runScript } from '../support/run-cli.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const CREDENTIAL = 'sk-ant-admin01-of-the-operator';
const REQUESTS = 4;
const MEGA = 1_000_000;

const CLAUDE = {
  ...{ input_tokens: 2 * MEGA, cache_read_input_tokens: MEGA, output_tokens: MEGA },
  cache_creation_input_tokens: MEGA,
  cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: MEGA },
  server_tool_use: { web_search_requests: 10 },
};
const GPT = {
  ...{ prompt_tokens: 3 * MEGA, completion_tokens: MEGA },
  prompt_tokens_details: { cached_tokens: MEGA },
};
const PRICES = {
  ...{ from: '2026-01-01', input: 5, output: 25, cache_read: 0.5, cache_write_1h: 10 },
  uses: { web_search: 0.01 },
};

/** The vendors' invoices, by the vendors' prices. */
const claude = (kind: string, quantity: number, usd: number): Line => ({
  ...{ day: TODAY, model: 'claude-example-5-20260901', kind },
  ...{ quantity: quantity * REQUESTS, usd: usd * REQUESTS },
});
const gpt = (kind: string, quantity: number, usd: number): Line => ({
  ...claude(kind, quantity, usd),
  model: 'gpt-example-2026-08-01',
});
const INVOICE: Line[] = [
  claude('input', 2 * MEGA, 10),
  claude('output', MEGA, 25),
  claude('cache_read', MEGA, 0.5),
  claude('cache_write_1h', MEGA, 10),
  claude('web_search', 10, 0.1),
];
const GPT_INVOICE: Line[] = [
  gpt('input', 2 * MEGA, 10),
  gpt('cache_read', MEGA, 0.5),
  gpt('output', MEGA, 25),
];

const folder = temporaryFolder('invoice');

let billed = { anthropic: INVOICE, openai: GPT_INVOICE };
const closers: (() => Promise<unknown>)[] = [];
let router: LocalRouter;
let urls: { anthropic: string; openai: string };

beforeAll(async () => {
  const provider = await startBillingProvider({
    'claude-example-5': { usage: CLAUDE },
    'gpt-example': { usage: GPT },
  });
  const [anthropic, openai] = await Promise.all([
    startCostReports(() => billed.anthropic, CREDENTIAL),
    startCostReports(() => billed.openai, CREDENTIAL),
  ]);
  urls = { anthropic: anthropic.url, openai: openai.url };
  const modelOf = (name: string, upstream: string, protocol: 'chat' | 'messages') => ({
    ...{ id: `acme/${name}`, display_name: name, created: 1, owned_by: 'acme' },
    ...{ context_length: 10_000_000, max_output_tokens: 10_000 },
    ...{ streaming: true, tools: true, vision: true, input_price_per_m: 1, output_price_per_m: 2 },
    targets: [
      {
        ...{ upstream, protocol, model: name, secret: 'acme' },
        baseUrl: protocol === 'chat' ? `${provider.url}/v1` : provider.url,
        prices: { currency: 'USD', versions: [PRICES] },
      },
    ],
  });
  router = await startWatched({
    clock: noonClock,
    secrets: { acme: 'a-credential-of-the-provider' },
    catalog: parseModels([
      modelOf('claude-example-5', 'anthropic', 'messages'),
      modelOf('gpt-example', 'openai', 'chat'),
    ]),
  });
  closers.push(router.close, provider.close, anthropic.close, openai.close);
  for (let n = 0; n < 2 * REQUESTS; n += 1) {
    const model = n % 2 === 0 ? 'acme/claude-example-5' : 'acme/gpt-example';
    const body = { model, stream: true, messages: [{ role: 'user', content: 'Hi' }] };
    await (await post(router, '/v1/chat/completions', body)).text();
  }
  const List = z.looseObject({ data: z.array(z.unknown()) });
  const exportable = async (): Promise<number> => {
    const response = await fetch(`${router.baseUrl}/admin/exports/ndjson?from=${TODAY}T11:00:00Z`);
    return List.parse(await response.json()).data.length;
  };
  while ((await exportable()) < 2 * REQUESTS)
    await new Promise((resolve) => setTimeout(resolve, 200));
});
afterAll(() => Promise.all(closers.map((close) => close())));

const Report = z.object({
  data: z.array(
    z.looseObject({
      model: z.string(),
      kind: z.string(),
      difference_usd: z.number(),
      reason: z.string(),
    }),
  ),
  our_usd: z.number(),
  their_usd: z.number(),
});

const ENV = () => ({
  ...{ ANTHROPIC_ADMIN_KEY: CREDENTIAL, OPENAI_ADMIN_KEY: CREDENTIAL },
  ...{ ANTHROPIC_BASE_URL: urls.anthropic, OPENAI_BASE_URL: urls.openai },
});

const argsOf = (args: string[]) => [
  ...['reconcile', '--month', MONTH, ...args, '--url', router.baseUrl],
];
const reconcile = (args: string[], env: Record<string, string> = ENV()) =>
  runCli(argsOf(args), env);

const reported = async (args: string[], run: (args: string[]) => Promise<Ended> = reconcile) => {
  const { code, out, err } = await run([...args, '--json']);
  expect({ code, err }).toMatchObject({ code: 0 });
  return Report.parse(JSON.parse(out));
};

const withInvoice = async <T>(
  changed: Partial<typeof billed>,
  use: () => Promise<T>,
): Promise<T> => {
  const before = billed;
  billed = { ...billed, ...changed };
  try {
    return await use();
  } finally {
    billed = before;
  }
};

describe('reconcile --provider', () => {
  test.each(['anthropic', 'openai'])(
    'the report of %s equals the records in every kind, and names no reason',
    async (name) => {
      const { data, our_usd: ours, their_usd: theirs } = await reported(['--provider', name]);
      expect(data).toHaveLength(name === 'anthropic' ? 5 : 3);
      expect(data.map(({ difference_usd: usd, reason }) => ({ usd, reason }))).toEqual(
        data.map(() => ({ usd: 0, reason: '' })),
      );
      expect(ours).toBeCloseTo(name === 'anthropic' ? 182.4 : 142, 9);
      expect(theirs).toBeCloseTo(ours, 9);
    },
  );

  test('a price that differs is named with both prices', async () => {
    const dearer = INVOICE.map((line) =>
      line.kind === 'cache_write_1h' ? { ...line, usd: 1.25 * line.usd } : line,
    );
    const { data } = await withInvoice({ anthropic: dearer }, () =>
      reported(['--provider', 'anthropic']),
    );
    const [found, ...others] = data.filter(({ reason }) => reason !== '');
    expect(others).toEqual([]);
    expect(found).toMatchObject({
      ...{ model: 'claude-example-5', kind: 'cache_write_1h', difference_usd: -10 },
      reason: 'price: $12.5 a million, the catalog has $10 a million',
    });
  });

  test.each([
    ['more than the router has seen', 2, /others use the account/],
    ['less than the router has seen', 0.5, /not billed yet/],
  ])('a provider that counts %s gets the reason', async (_, factor, reason) => {
    const counted = GPT_INVOICE.map((line) =>
      line.kind === 'output'
        ? { ...line, quantity: factor * line.quantity, usd: factor * line.usd }
        : line,
    );
    const { data } = await withInvoice({ openai: counted }, () =>
      reported(['--provider', 'openai']),
    );
    expect(data.find(({ kind }) => kind === 'output')?.reason).toMatch(reason);
  });

  test('usage that did not go through the router, and a day without a report, have a reason', async () => {
    const other = { ...claude('input', MEGA, 5), model: 'claude-other' };
    const { data } = await withInvoice({ anthropic: [...INVOICE.slice(1), other] }, () =>
      reported(['--provider', 'anthropic']),
    );
    expect(data.find(({ model }) => model === 'claude-other')?.reason).toMatch(
      /did not go through/,
    );
    const ours = data.find(({ model, kind }) => model === 'claude-example-5' && kind === 'input');
    expect(ours?.reason).toMatch(/not in the report|not billed yet/);
  });

  test('a table shows both sides, and a note the sums', async () => {
    const { out, err } = await reconcile(['--provider', 'anthropic']);
    expect(out).toMatch(/^DAY +MODEL +KIND +OUR QUANTITY/);
    expect(err).toMatch(/^The router has \$182\.4, the provider \$182\.4/m);
  });
});

test('reconcile takes the credential from Secrets Manager, and says when it is no admin key', async () => {
  const secrets = await startEmbeddedSecrets({
    billing: JSON.stringify({ ANTHROPIC_ADMIN_KEY: CREDENTIAL }),
    wrong: 'sk-ant-api03-of-a-caller',
  });
  const env = {
    ANTHROPIC_BASE_URL: urls.anthropic,
    AWS_ENDPOINT_URL_SECRETS_MANAGER: secrets.endpoint,
    ...{ AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'key', AWS_REGION: 'us-east-1' },
  };
  const args = ['--provider', 'anthropic', '--secret'];
  // AWS's SDK reads the environment of a process.
  const run = (more: string[]) => runScript('cli/main.ts', argsOf(more), env);
  expect((await reported([...args, 'billing'], run)).their_usd).toBeCloseTo(182.4, 9);
  const wrong = await run([...args, 'wrong']);
  expect(wrong).toMatchObject({ code: 1, err: expect.stringContaining('status 401') });
  expect(wrong.err).not.toContain('sk-ant');
  expect((await reconcile(['--provider', 'anthropic'], {})).err).toContain('ANTHROPIC_ADMIN_KEY');
  await secrets.close();
});

test('reconcile compares the lines of an invoice, and names a line that is not valid', async () => {
  const file = join(folder, 'invoice.csv');
  const lines = GPT_INVOICE.map(({ day, model, kind, quantity, usd }) =>
    [day, model, kind, quantity, usd].join(','),
  );
  writeFileSync(file, ['day,model,kind,quantity,cost_usd', ...lines, ''].join('\n'));
  const args = ['--upstream', 'openai', '--invoice', file];
  const { data, their_usd: theirs } = await reported(args);
  expect(theirs).toBeCloseTo(142, 9);
  expect(data.filter(({ reason }) => reason !== '')).toEqual([]);
  writeFileSync(file, 'day,model,kind,quantity,cost_usd\n24.11.2026,gpt,input,1,1\n');
  expect(await reconcile(args)).toMatchObject({ code: 2, err: expect.stringContaining('line 2') });
});
