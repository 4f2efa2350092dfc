import { randomBytes } from 'node:crypto';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { systemClock } from '../../../lambdas/support/clock.ts';
import {
  type EmbeddedUpstream,
  startEmbeddedUpstream,
} from '../../../local/embedded-upstream/server.ts';
import { readOwnCatalog } from '../../../local/own-catalog.ts';
import { startLocal } from '../../../local/start.ts';
import { runBuilt, runCli, runScript } from '../../support/run-cli.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const fixture = (name: string): string =>
  fileURLToPath(new URL(`../../fixtures/imports/${name}`, import.meta.url));
const folder = temporaryFolder('imported');
const newFolder = (): string => mkdtempSync(join(folder, 'out-'));

const CREDENTIALS = {
  FIRST_KEY: 'first-credential',
  MESSAGES_KEY: 'messages-credential',
  GEMINI_KEY: 'gemini-credential',
  OPENAI_API_KEY: 'openai-credential',
  OPENROUTER_API_KEY: 'openrouter-credential',
};
const IN_FILES = ['sk-second-of-the-file', 'sk-ant-of-the-file', 'none'];

let provider: EmbeddedUpstream;
beforeAll(async () => {
  provider = await startEmbeddedUpstream({
    credentials: new Set([...Object.values(CREDENTIALS), ...IN_FILES]),
    ...{ delayMs: 0, clock: systemClock, randomBytes },
  });
});
afterAll(() => provider.close());

const env = () => ({
  ...CREDENTIALS,
  CHAT_BASE: provider.baseUrl('chat'),
  MESSAGES_BASE: provider.baseUrl('messages'),
  RESPONSES_BASE: provider.baseUrl('responses'),
  GEMINI_BASE: provider.baseUrl('gemini'),
});

const SCRIPT = 'local/import/main.ts';

const runImport = (args: string[]) => runBuilt(SCRIPT, args, env());

const Notes = z.array(z.object({ place: z.string(), reason: z.string() }));
const Report = z.object({
  missing: z.array(z.string()),
  secrets: z.array(z.string()),
  noCounterpart: Notes,
  assumed: Notes,
});

/** Imports into a new folder and starts a router on what was written. */
const importAndStart = async (args: string[]) => {
  const out = newFolder();
  const { code, out: text, err } = await runImport([...args, '--out', out, '--json']);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  const paths = { catalog: join(out, 'catalog.json'), secrets: join(out, 'secrets.json') };
  const files = await readOwnCatalog(paths);
  const router = await startLocal(files);
  const admin = async (...words: string[]) => {
    const ended = await runCli([...words, '--url', router.baseUrl, '--json']);
    expect({ words, code: ended.code, err: ended.code === 0 ? '' : ended.err + ended.out }).toEqual(
      {
        ...{ words, code: 0, err: '' },
      },
    );
    return z.record(z.string(), z.unknown()).parse(JSON.parse(ended.out));
  };
  return { out, router, admin, catalog: files.catalog, report: Report.parse(JSON.parse(text)) };
};
type Started = Awaited<ReturnType<typeof importAndStart>>;

const turns = [{ role: 'user', content: 'say hello there' }];
const FAMILIES: Record<string, object> = {
  '/v1/chat/completions': { stream: true, messages: turns },
  '/v1/messages': { stream: true, messages: turns, max_tokens: 100 },
  '/v1/responses': { stream: true, input: turns },
};

const expectStreams = async ({ router }: Started, key: string, model: string) => {
  for (const [path, body] of Object.entries(FAMILIES)) {
    const response = await fetch(`${router.baseUrl}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, ...body }),
    });
    const text = await response.text();
    expect({ path, model, status: response.status, text }).toMatchObject({ status: 200 });
    expect(text).toMatch(/hello[\s\S]*there/);
  }
};

const AppliedKeys = z.array(
  z.object({ name: z.string(), outcome: z.string(), key: z.string().optional() }),
);

describe('a configuration of LiteLLM', () => {
  let started: Started;
  beforeAll(async () => {
    started = await importAndStart(['litellm', fixture('gateway.yaml')]);
  });
  afterAll(() => started.router.close());

  test('its models answer in each family under the names and aliases of the file, and doctor is green', async () => {
    const { admin, out } = started;
    const applied = await admin('apply', join(out, 'plans.json'));
    const [{ key = '' } = {}] = AppliedKeys.parse(applied.keys);
    for (const model of [
      'writer',
      'gpt-4o',
      'openai/writer',
      'thinker',
      'claude',
      'google/seer-3',
    ]) {
      await expectStreams(started, key, model);
    }
    expect(await admin('doctor')).toMatchObject({ failed: 0, warnings: 0 });
  });

  test('equal deployments share one tier by their rpm, and fallbacks come after them at their own price', () => {
    const [writer] = started.catalog;
    const shown = writer?.targets.map(({ upstream, secret, tier, weight, prices }) => ({
      ...{ upstream, secret, tier, weight, output: prices?.versions[0]?.output },
    }));
    expect(shown).toEqual([
      { upstream: 'openai', secret: 'FIRST_KEY', tier: 0 },
      { upstream: 'openai-2', secret: 'openai', tier: 0, weight: 1 / 3 },
      { upstream: 'anthropic', secret: 'MESSAGES_KEY', tier: 1, output: 15 },
    ]);
    expect(writer).toMatchObject({
      ...{ id: 'openai/writer', aliases: ['writer', 'gpt-4o'], context_length: 200_000 },
      ...{ max_output_tokens: 32_000, input_price_per_m: 2.5, vision: false },
      targets: [{ firstEventTimeoutMs: 90_000 }, {}, {}],
    });
    expect(started.catalog[1]?.cached_input_price_per_m).toBe(0.3);
  });

  test('each setting without a counterpart is listed once by its path, with a reason', () => {
    const { noCounterpart } = started.report;
    expect(noCounterpart.map(({ place }) => place).toSorted()).toEqual([
      'fallbacks of writer',
      'general_settings.master_key',
      'general_settings.pass_through_endpoints',
      'general_settings.store_model_in_db',
      'litellm_settings.callbacks',
      'litellm_settings.context_window_fallbacks',
      'litellm_settings.drop_params',
      'litellm_settings.num_retries',
      'litellm_settings.request_timeout',
      'model_list[0].litellm_params.rpm',
      'model_list[1].litellm_params.rpm',
      'model_list[1].litellm_params.tpm',
      'model_list[2].litellm_params.temperature',
      'model_list[4].litellm_params.model',
      'model_list[5].litellm_params.model',
      'model_list[6].litellm_params.model',
      'router_settings.redis_host',
      'router_settings.routing_strategy',
    ]);
    expect(noCounterpart.filter(({ reason }) => reason.length < 10)).toEqual([]);
    expect(started.report.assumed.map(({ place }) => place)).toEqual([
      'litellm_settings.budget_duration',
    ]);
  });

  test('credentials are in a file for their owner only, and in no other output', () => {
    const path = join(started.out, 'secrets.json');
    expect(statSync(path).mode & 0o077).toBe(0);
    expect(readFileSync(path, 'utf8')).toContain('sk-second-of-the-file');
    const others = ['catalog.json', 'plans.json'].map((name) =>
      readFileSync(join(started.out, name), 'utf8'),
    );
    for (const text of [...others, JSON.stringify(started.report)]) {
      expect(text).not.toMatch(/-credential|sk-second|sk-1234/);
    }
  });
});

describe('a configuration of LiteLLM with its teams and keys', () => {
  let started: Started;
  beforeAll(async () => {
    const files = ['--teams', fixture('teams.json'), '--keys', fixture('keys.json')];
    started = await importAndStart(['litellm', fixture('teams.yaml'), ...files]);
  });
  afterAll(() => started.router.close());

  test('teams are projects with plans and budgets, and their keys are new keys that work', async () => {
    const { admin, out, router } = started;
    const plans = join(out, 'plans.json');
    const keys = AppliedKeys.parse((await admin('apply', plans)).keys);
    expect(keys.map(({ name }) => name)).toEqual(['crawler', 'weekly']);
    const [crawler, weekly] = keys.map(({ key = '' }) => key);
    await expectStreams(started, crawler ?? '', 'house-model');
    await expectStreams(started, weekly ?? '', 'careful');
    const limits = await fetch(`${router.baseUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${crawler}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'careful', messages: turns }),
    });
    expect(await limits.json()).toMatchObject({ error: { code: 'model_not_found' } });
    const { data } = await admin('budgets', 'list');
    const rows = z.array(z.record(z.string(), z.unknown())).parse(data);
    const shown = rows.map(({ scope, id, project = id, max_usd, period }) =>
      [scope, project, max_usd, period].join(' '),
    );
    expect(shown.toSorted()).toEqual([
      'key Search-Ranking 20 day',
      'project Search-Ranking 250 month',
      ...['Search-Ranking', 'imported', 'sandbox'].map((id) => `users ${id} 3 total`),
    ]);
    expect(await admin('doctor')).toMatchObject({ failed: 0 });
    const again = await admin('apply', plans);
    const outcomes = JSON.stringify(again).match(/"outcome":"\w+"/g) ?? [];
    expect([...new Set(outcomes)]).toEqual(['"outcome":"unchanged"']);
  });

  test('a key has at most the limits of its team, and what ends is not made again', () => {
    const { keys, plans, projects } = z
      .record(z.string(), z.array(z.record(z.string(), z.unknown())))
      .parse(JSON.parse(readFileSync(join(started.out, 'plans.json'), 'utf8')));
    expect(projects?.map(({ id }) => id)).toEqual(['Search-Ranking', 'sandbox', 'imported']);
    expect(plans?.[0]).toMatchObject({ rpm: 120, concurrency: 8 });
    expect(keys?.[0]).toMatchObject({
      rpm: 60,
      concurrency: 8,
      models: ['hosted_vllm/house-model'],
    });
    const places = started.report.noCounterpart.map(({ place }) => place);
    expect(places).toEqual(
      expect.arrayContaining([
        ...['teams[0].tpm_limit', 'teams[0].members_with_roles', 'teams[1]', 'teams[2]'],
        ...['keys[1].budget_duration', 'keys[2]', 'keys[3]'],
      ]),
    );
  });
});

test("a list of OpenRouter's models becomes a catalog of those that make text, whose doctor is green", async () => {
  const started = await importAndStart([
    ...['openrouter', fixture('openrouter.json'), '--base-url', provider.baseUrl('chat')],
  ]);
  const { admin, out, catalog, report, router } = started;
  try {
    const [{ key = '' } = {}] = AppliedKeys.parse(
      (await admin('apply', join(out, 'plans.json'))).keys,
    );
    await expectStreams(started, key, 'aurora/scribe-1');
    expect(await admin('doctor')).toMatchObject({ failed: 0, warnings: 0 });
  } finally {
    await router.close();
  }
  expect(catalog).toMatchObject([
    {
      ...{ id: 'aurora/scribe-1', display_name: 'Aurora: Scribe 1', context_length: 262_144 },
      ...{ max_output_tokens: 65_536, vision: true, tools: true, input_price_per_m: 0.6 },
      ...{ output_price_per_m: 2.2, cached_input_price_per_m: 0.11 },
    },
  ]);
  expect(report.noCounterpart.map(({ place }) => place)).toEqual([
    ...['aurora/scribe-1.pricing.image', 'openrouter/auto', 'cirrus/painter'],
  ]);
});

const BROKEN: [what: string, text: string, error: RegExp][] = [
  ['that is no YAML', 'model_list:\n  - model_name: "a\n    b: c\n', /broken\.yaml:\d+: /],
  [
    'of another form',
    'model_list:\n  - model_name: a\n    litellm_params:\n      api_key: sk-canary\n',
    /broken\.yaml:4: model_list\[0\]\.litellm_params\.model: /,
  ],
  ['that is empty', '', /broken\.yaml:1: must be an object$/m],
  [
    'with values of other types',
    'model_list:\n- model_name: 7\n  litellm_params: {model: openai/a, api_key: [sk-canary]}\n',
    /broken\.yaml:2: model_list\[0\]\.model_name: must be a string\n.*:3: .*api_key: must be a string\n/,
  ],
  [
    'with the name of a header that none can have',
    'model_list:\n- model_name: a\n  litellm_params:\n    model: openai/a\n    extra_headers: {"a b": c}\n',
    /broken\.yaml:2: .*\n {2}model_list\[0\]\.litellm_params: as a target its headers\.a b is not a valid name/,
  ],
  [
    'whose variable is not set',
    'model_list:\n- model_name: a\n  litellm_params:\n    model: openai/a\n    api_base: os.environ/NOT_SET_HERE\n',
    /broken\.yaml:2: .*\n {2}model_list\[0\]\.litellm_params\.api_base: the environment variable NOT_SET_HERE is not set/,
  ],
  [
    'whose address is none',
    'model_list:\n- model_name: a\n  litellm_params:\n    model: openai/a\n    api_base: vllm:8000\n',
    /broken\.yaml:2: .*\n {2}model_list\[0\]\.litellm_params: as a target its baseUrl must be an http or https URL/,
  ],
  [
    'without a model that can be called',
    'model_list:\n- model_name: a\n  litellm_params:\n    model: sagemaker/sk-x\n',
    /broken\.yaml:2: model_list: no model of it can be called/,
  ],
  [
    'with too many references',
    `a: &a [1,1,1,1,1,1,1,1,1]\n${'bcdefghi'.replaceAll(
      /./g,
      (name) =>
        `${name}: &${name} [${Array(9)
          .fill(`*${String.fromCharCode(name.charCodeAt(0) - 1)}`)
          .join(',')}]\n`,
    )}`,
    /broken\.yaml: .*alias/i,
  ],
];

test.each(BROKEN)(
  'a file %s is a clear error with its line, and nothing is written',
  async (_, text, error) => {
    const out = join(newFolder(), 'none');
    const file = join(newFolder(), 'broken.yaml');
    writeFileSync(file, text);
    const ended = await runImport(['litellm', file, '--out', out]);
    expect(ended).toMatchObject({ code: 2, out: '' });
    expect(ended.err).toMatch(error);
    expect(ended.err).not.toMatch(/sk-canary|\n\s+at |Invalid|expected/);
    expect(() => readdirSync(out)).toThrow();
  },
);

test('models of a list that the router would reject are named by their ids', async () => {
  const file = join(newFolder(), 'models.json');
  const listed = { id: 'aurora/odd', name: 'Odd', context_length: 1.5 };
  writeFileSync(file, JSON.stringify({ data: [listed] }));
  const ended = await runImport(['openrouter', file, '--out', newFolder()]);
  expect(ended).toMatchObject({ code: 2, out: '' });
  expect(ended.err).toContain('must be an integer\n  → at aurora/odd: context_length\n');
});

test.each<[string, unknown, string]>([
  ['an error', { error: { message: 'No auth' } }, '1: data: is required\n'],
  ['no model', { data: [] }, '1: data: must have at least 1 item\n'],
  [
    'a price in words',
    { data: [{ id: 'a/b' }, { id: 'a/c', pricing: { prompt: 'free' } }] },
    '1: data[1].pricing.prompt: must be a number\n',
  ],
  ['a list of names', ['a/b', 'a/c'], '1: [0]: must be an object\n'],
])('of a list of models that is %s the error names the place', async (_, list, error) => {
  const file = join(newFolder(), 'models.json');
  writeFileSync(file, JSON.stringify(list));
  const ended = await runImport(['openrouter', file, '--out', newFolder()]);
  expect(ended).toMatchObject({ code: 2, out: '' });
  expect(ended.err).toContain(`models.json:${error}`);
});

const YAML = `
model_list:
  - model_name: careful
    litellm_params: { model: openai/careful-1, litellm_credential_name: shared, api_version: own }
    model_info:
      input_cost_per_token: 0.000003
      output_cost_per_token: 0.000015
      cache_read_input_token_cost: 3.0e-7
      cache_creation_input_token_cost: 0.00000375
      cache_creation_input_token_cost_above_1hr: 0.000006
      input_cost_per_token_above_200k_tokens: 0.000006
      cache_read_input_token_cost_above_200k_tokens: 6.0e-7
      input_cost_per_token_batches: 0.0000015
  - model_name: first
    litellm_params:
      model: openai/first-1
      api_key: sk-second-of-the-file
      extra_headers: { x-team: red, Authorization: Bearer of-the-header }
    model_info: { input_cost_per_token: 0.000001, output_cost_per_token: 0.000002 }
credential_list:
  - credential_name: shared
    credential_values: { api_key: os.environ/FIRST_KEY, api_base: 'https://careful.example/v1', api_version: shared }
litellm_settings:
  fallbacks: [{ careful: [first] }, { careful: [nobody] }]
  cache_params: { type: redis }
`;

test('of a configuration of LiteLLM the prices of caches and of long prompts, shared credentials and the first of two fallbacks are taken over', async () => {
  const [out, folderOfFile] = [newFolder(), newFolder()];
  const file = join(folderOfFile, 'config.yaml');
  writeFileSync(file, YAML);
  const { code, out: text } = await runImport(['litellm', file, '--out', out, '--json']);
  expect(code).toBe(0);
  const { catalog, noCounterpart } = JSON.parse(text);
  const [careful, first] = catalog;
  expect(careful.targets).toMatchObject([
    {
      ...{ baseUrl: 'https://careful.example/v1', secret: 'FIRST_KEY' },
      prices: {
        versions: [
          {
            ...{ input: 3, output: 15, cache_read: 0.3, cache_write_5m: 3.75, cache_write_1h: 6 },
            tiers: [{ above: 200_000, input: 6, cache_read: 0.6 }],
          },
        ],
      },
    },
    { model: 'first-1', prices: { versions: [{ input: 1, output: 2 }] } },
  ]);
  expect(first.targets[0].headers).toEqual({ 'x-team': 'red' });
  expect(
    await readOwnCatalog({
      catalog: join(out, 'catalog.json'),
      secrets: join(out, 'secrets.json'),
    }),
  ).toBeDefined();
  const reasonAt = (end: string) =>
    noCounterpart.find(({ place }: { place: string }) => place.endsWith(end))?.reason;
  expect(noCounterpart).toHaveLength(3);
  expect(reasonAt('input_cost_per_token_batches')).toContain('docs/costs.md');
  expect(reasonAt('extra_headers.Authorization')).toContain('one credential');
  expect(reasonAt('litellm_settings.cache_params')).toContain('docs/replay.md');
  expect(text).not.toContain('of-the-header');
});

test('models that generate no text by their names are listed, where nothing states their mode', async () => {
  const others = {
    embedding: 'text-embedding-3-small',
    rerank: 'rerank-v3.5',
    moderation: 'omni-moderation-latest',
    audio_transcription: 'whisper-1',
    audio_speech: 'gpt-4o-mini-tts',
    image_generation: 'dall-e-3',
  };
  const file = join(newFolder(), 'models.yaml');
  const names = ['gpt-4o', 'claude-sonnet-4-5', ...Object.values(others)];
  const entries = names.map(
    (name) => `- model_name: ${name}
  litellm_params: { model: openai/${name} }
`,
  );
  writeFileSync(
    file,
    `model_list:
${entries.join('')}`,
  );
  const { code, out } = await runImport(['litellm', file, '--out', newFolder(), '--json']);
  expect(code).toBe(0);
  const { noCounterpart } = JSON.parse(out);
  expect(noCounterpart.map(({ reason }: { reason: string }) => reason)).toEqual(
    Object.entries(others).map(
      ([mode, name]) => `openai/${name}: mode ${mode}, and the router serves text generation only`,
    ),
  );
});

test('a folder that cannot be created ends the import with the reason', async () => {
  const below = join(newFolder(), 'file');
  writeFileSync(below, '');
  for (const out of [join(below, 'out'), ...(existsSync('/proc') ? ['/proc/router'] : [])]) {
    const ended = await runImport(['litellm', fixture('gateway.yaml'), '--out', out]);
    expect(ended).toMatchObject({ code: 2, out: '' });
    expect(ended.err).toContain(`The folder ${out} cannot be written: `);
  }
});

test('a report for people says what was written, what is to be filled in, and what to run', async () => {
  const out = newFolder();
  const args = ['litellm', fixture('gateway.yaml'), '--out', out];
  const { code, out: text } = await runScript(SCRIPT, args, { ...env(), FIRST_KEY: '' });
  expect(code).toBe(0);
  expect(text).toContain('catalog.json: 3 models, 5 targets');
  expect(text).toContain('secrets.json: 3 credentials; add FIRST_KEY');
  expect(text).toMatch(
    /No counterpart \(18\):\n(?: {2}\S.*\n)* {2}general_settings\.master_key: operators sign/,
  );
  expect(text).toMatch(/Next:\n {2}npm start -- --catalog /);
});
