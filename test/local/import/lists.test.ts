import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { withRouter } from '../../support/local.ts';
import { runCli } from '../../support/run-cli.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { importText } from './import-text.ts';

const folder = temporaryFolder('lists');

const importList = (list: unknown) => importText(folder, 'openrouter', JSON.stringify(list));

test('a model of a list without a price has none in the catalog, so that its cost is marked as incomplete', async () => {
  for (const pricing of [undefined, null, {}, { prompt: '', completion: null }]) {
    const { catalog } = await importList({ data: [{ id: 'nimbus/unpriced-7', pricing }] });
    expect(catalog[0]?.targets[0]?.prices?.versions).toMatchObject([{ input: null, output: null }]);
  }
});

test('prices of a list are exact, those of caches too, and each other price is listed', async () => {
  const pricing = {
    ...{ prompt: '0.000000123456789', completion: '1.5E-05', input_cache_read: 1e-8 },
    ...{ input_cache_write: '0.00000375', input_cache_write_1h: '0.000006', request: '0' },
    ...{ audio: '0.000032', discount: 0.1, unheard_of: '0.1', web_search: '0.000' },
    overrides: [{ min_prompt_tokens: 200_000, prompt: '0.000006' }],
  };
  const { catalog, noCounterpart } = await importList([
    { id: 'nimbus/priced', pricing },
    { id: 'nimbus/free:free', pricing: { prompt: '0', completion: '0', input_cache_write: '0' } },
  ]);
  const [priced, free] = catalog;
  expect(priced).toMatchObject({ input_price_per_m: 0.123456789, output_price_per_m: 15 });
  expect(priced?.targets[0]?.prices?.versions).toEqual([
    {
      ...{ from: '2020-01-01', input: 0.123456789, output: 15, cache_read: 0.01 },
      ...{ cache_write_5m: 3.75, cache_write_1h: 6 },
    },
  ]);
  expect(free?.targets[0]).not.toHaveProperty('prices');
  expect(noCounterpart.map(({ place }) => place)).toEqual(
    ['audio', 'discount', 'unheard_of', 'overrides'].map((kind) => `nimbus/priced.pricing.${kind}`),
  );
});

test('a model of a list that cannot be taken is listed, and the others are imported', async () => {
  const price = { prompt: '0.000001', completion: '0.000002' };
  const { catalog, noCounterpart } = await importList({
    data: [
      { id: 'nimbus/whole', context_length: null, top_provider: null, pricing: price },
      { id: 'nimbus/other', pricing: { prompt: '0.000001', completion: '-1' } },
      { id: 'nimbus/whole', context_length: 5, pricing: price },
      {
        ...{ id: 'nimbus/sizeless', context_length: 0, pricing: price },
        top_provider: { max_completion_tokens: 0 },
      },
    ],
  });
  expect(catalog).toMatchObject([
    { id: 'nimbus/whole', context_length: 128_000 },
    { id: 'nimbus/sizeless', context_length: 128_000, max_output_tokens: 32_000 },
  ]);
  expect(noCounterpart).toEqual([
    {
      place: 'nimbus/other',
      reason: 'its price is that of another model, which it chooses',
    },
    { place: 'nimbus/whole', reason: 'the list has it twice: the first counts' },
  ]);
});

test('a list is read in the encodings that shells write, and a web page in its place is named', async () => {
  const text = JSON.stringify({ data: [{ id: 'nimbus/encoded', name: 'Ünïcode' }] });
  for (const bytes of [
    Buffer.from(`\uFEFF${text}`),
    Buffer.from(`\uFEFF${text.replaceAll(',', ',\r\n')}`, 'utf16le'),
  ]) {
    const { catalog } = await importText(folder, 'openrouter', bytes);
    expect(catalog).toMatchObject([{ id: 'nimbus/encoded', display_name: 'Ünïcode' }]);
  }
  const page = await importText(
    folder,
    'openrouter',
    '<!DOCTYPE html>\n<title>502: Bad gateway</title>',
  );
  expect(page).toMatchObject({ code: 2, out: '' });
  expect(page.err).toMatch(/listed:1: must be YAML or JSON, and begins as a web page does: <\n$/);
});

test('prices and sizes of a configuration of LiteLLM count in quotes, too', async () => {
  const { catalog } = await importText(
    folder,
    'litellm',
    `model_list:
- model_name: quoted
  litellm_params: { model: openai/quoted-1, input_cost_per_token: "3e-06" }
  model_info:
    output_cost_per_token: '0.000015'
    max_input_tokens: "32000"
    input_cost_per_token_above_128k_tokens: "6e-06"
- model_name: stepped
  litellm_params:
    model: openai/stepped-1
    input_cost_per_token: "1e-06"
    output_cost_per_token: 2e-6
    input_cost_per_token_above_128k_tokens: "0.000002"
`,
  );
  const [quoted, stepped] = catalog;
  expect(quoted).toMatchObject({
    ...{ input_price_per_m: 3, output_price_per_m: 15, context_length: 32_000 },
  });
  expect(stepped?.targets[0]?.prices?.versions[0]).toMatchObject({
    tiers: [{ above: 128_000, input: 2 }],
  });
});

const CONFIG = `model_list:
- model_name: first
  litellm_params: { model: openai/first-1 }
`;
const pageOf = (...aliases: string[]) => ({
  keys: aliases.map((key_alias) => ({ key_alias, token: 'hash', models: [] })),
  ...{ total_count: 5, current_page: 1, total_pages: 3 },
});

test('keys of LiteLLM are read from several pages, and those that no page has are named', async () => {
  const Plans = z.looseObject({
    plans: z.object({ keys: z.array(z.object({ name: z.string() })) }),
  });
  const namesIn = (text: string) =>
    Plans.parse(JSON.parse(text)).plans.keys.map(({ name }) => name);
  const pages = [pageOf('a', 'b'), pageOf('c', 'd')];
  const some = await importText(folder, 'litellm', CONFIG, pages);
  expect(namesIn(some.out)).toEqual(['a', 'b', 'c', 'd']);
  expect(some.noCounterpart).toEqual([
    {
      place: 'keys',
      reason: '4 of 5 are in the file: give each page, with --keys several times',
    },
  ]);
  const all = await importText(folder, 'litellm', CONFIG, [...pages, pageOf('e')]);
  expect(namesIn(all.out)).toEqual(['a', 'b', 'c', 'd', 'e']);
  expect(all.noCounterpart).toEqual([]);
});

test.each<[string, unknown, string]>([
  [
    'hashes',
    { keys: ['88dc28d0'] },
    ':2: keys: has only hashes: get it with ?return_full_object=true',
  ],
  ['a limit in words', { keys: [{}, { rpm_limit: {} }] }, ':5: keys[1].rpm_limit: '],
  ['an array with a limit in words', [{ models: 'all' }], ':3: [0].models: must be an array'],
])('of a page of keys that has %s the error names the place', async (_, page, error) => {
  const { code, err } = await importText(folder, 'litellm', CONFIG, [page]);
  expect(code).toBe(2);
  expect(err).toContain(`page-0${error}`);
});

test('plans of teams and keys of any names and limits are applied, and a second time they change nothing', async () => {
  const spaced = `${'a'.repeat(99)} b`;
  const cut = `${'a'.repeat(99)}🎉`;
  const { code, out } = await importText(
    folder,
    'litellm',
    CONFIG,
    [
      [
        { key_alias: spaced, max_parallel_requests: 0.4, rpm_limit: 1.5 },
        { key_alias: cut, max_budget: 12.3456, budget_duration: '1d' },
        { key_alias: '\u200B', key_name: '' },
        { key_alias: spaced, team_id: 'east', rpm_limit: 1e12 },
      ],
    ],
    [
      { team_id: 'east', team_alias: '日本', max_parallel_requests: 1e6 },
      { team_id: 'none', team_alias: '---' },
      { team_id: 'imported', team_alias: 'imported', rpm_limit: 5 },
      { team_id: '\u200B', team_alias: '' },
    ],
  );
  expect(code).toBe(0);
  const { plans } = z.looseObject({ plans: z.unknown() }).parse(JSON.parse(out));
  const file = join(mkdtempSync(join(folder, 'plans-')), 'plans.json');
  writeFileSync(file, JSON.stringify(plans));
  await withRouter({}, async ({ baseUrl }) => {
    const outcomes = async () => {
      const ended = await runCli(['apply', file, '--url', baseUrl, '--json']);
      expect([ended.code, ended.err]).toEqual([0, expect.not.stringContaining('status 400')]);
      return ended.out.match(/"outcome":"\w+"|"outcome": "\w+"/g)?.map((one) => one.split('"')[3]);
    };
    expect(new Set(await outcomes())).toEqual(new Set(['created']));
    expect(new Set(await outcomes())).toEqual(new Set(['unchanged']));
  });
});
