import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../../lambdas/support/clock.ts';
import {
  type EmbeddedUpstream,
  startEmbeddedUpstream,
} from '../../../local/embedded-upstream/server.ts';
import { readOwnCatalog } from '../../../local/own-catalog.ts';
import { startLocal } from '../../../local/start.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { importText } from './import-text.ts';

const folder = temporaryFolder('configurations');

let provider: EmbeddedUpstream;
beforeAll(async () => {
  provider = await startEmbeddedUpstream({
    credentials: new Set(['own-credential', 'none']),
    ...{ delayMs: 0, clock: systemClock, randomBytes },
  });
});
afterAll(() => provider.close());

const importConfig = (text: string, env: Record<string, string> = {}) =>
  importText(folder, 'litellm', text, [], undefined, { env });

const reasonsOf = (notes: { place: string; reason: string }[]) =>
  Object.fromEntries(notes.map(({ place, reason }) => [place, reason]));

const FAMILIES: Record<string, object> = {
  '/v1/chat/completions': { messages: [{ role: 'user', content: 'say hello there' }] },
  '/v1/messages': { messages: [{ role: 'user', content: 'say hello there' }], max_tokens: 50 },
};

const PEOPLE = `
model_list:
  - model_name: Fast Model
    litellm_params:
      model: os.environ/FAST_MODEL
      api_base: os.environ/OWN_BASE
      api_key: os.environ/OWN_KEY
  - model_name: claude-sonnet-4-5
    litellm_params:
      model: ollama_chat/qwen:7b
      api_base: os.environ/OWN_BASE
      max_tokens: 512
    model_info: { input_cost_per_token: -1, output_cost_per_token: "-1", max_input_tokens: 0 }
  - model_name: "*"
    litellm_params: { model: openai/any, api_base: os.environ/OWN_BASE }
  - model_name: gone
    litellm_params: { model: openai/gone, api_base: os.environ/GONE_BASE }
  - model_name: odd
    litellm_params: { model: openai/odd, api_base: "vllm:8000" }
  - model_name: headed
    litellm_params:
      model: openai/headed
      api_base: os.environ/OWN_BASE
      api_key: os.environ/OWN_KEY
      extra_headers: { X-Gateway-Key: os.environ/OWN_KEY, x-team: red }
router_settings:
  model_group_alias: { "sonnet 4": claude-sonnet-4-5, many: [a, b] }
  fallbacks: [{ "Fast Model": ["sonnet 4"] }]
`;

test('a configuration whose names have spaces, whose models are variables and of which some entries cannot be called serves the others in both families', async () => {
  const imported = await importConfig(PEOPLE, {
    ...{
      FAST_MODEL: 'openai/fast-1',
      OWN_BASE: provider.baseUrl('chat'),
      OWN_KEY: 'own-credential',
    },
  });
  expect(imported).toMatchObject({ code: 0, err: '' });
  const router = await startLocal(
    await readOwnCatalog({ catalog: imported.catalogFile, secrets: imported.secretsFile }),
  );
  try {
    for (const model of ['Fast-Model', 'claude-sonnet-4-5', 'sonnet-4', 'headed']) {
      for (const [path, body] of Object.entries(FAMILIES)) {
        const answer = await fetch(`${router.baseUrl}${path}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${router.key}`, 'content-type': 'application/json' },
          body: JSON.stringify({ model, ...body }),
        });
        expect([model, path, answer.status, await answer.text()]).toEqual([
          ...[model, path, 200, expect.stringContaining('hello there')],
        ]);
      }
    }
  } finally {
    await router.close();
  }
  const [fast, sonnet] = imported.catalog;
  expect(fast?.targets.map(({ model }) => model)).toEqual(['fast-1', 'qwen:7b']);
  // What the file states for requests without a limit limits no other.
  expect(sonnet).toMatchObject({ context_length: 128_000, input_price_per_m: 0 });
  expect(sonnet?.max_output_tokens).toBeGreaterThan(512);
  expect(reasonsOf(imported.noCounterpart)).toMatchObject({
    'model_list[1].model_info.input_cost_per_token': 'must be at least 0: it is left out',
    'model_list[1].model_info.max_input_tokens': 'must be more than 0: it is left out',
    'model_list[2].litellm_params': expect.stringContaining('stands for any'),
    'model_list[3].litellm_params.api_base': 'the environment variable GONE_BASE is not set',
    'model_list[4].litellm_params': 'as a target its baseUrl must be an http or https URL',
    'model_list[5].litellm_params.extra_headers["X-Gateway-Key"]':
      expect.stringContaining('one credential'),
    'router_settings.model_group_alias.many': 'must be a string or an object: it is left out',
  });
  expect(reasonsOf(imported.assumed)).toMatchObject({
    'model_name "Fast Model"': expect.stringContaining('callers write Fast-Model'),
    'model_name "sonnet 4"': expect.stringContaining('callers write sonnet-4'),
  });
  expect(readFileSync(imported.catalogFile, 'utf8')).not.toContain('own-credential');
});

test('of two names that are the same without their spaces each keeps callers apart', async () => {
  const entry = (name: string) =>
    `- { model_name: "${name}", litellm_params: { model: openai/${name.length} } }\n`;
  const { catalog } = await importConfig(
    `model_list:\n${entry('a b')}${entry('a-b')}${entry('a  b')}`,
  );
  expect(catalog.map(({ aliases, targets: [first] }) => [aliases?.[0], first?.model])).toEqual([
    ...[
      ['a-b-2', '3'],
      ['a-b', '3'],
      ['a-b-3', '4'],
    ],
  ]);
});

test('of a key that a map has twice the last one counts, as PyYAML reads it, and its line is named', async () => {
  const { code, catalog, assumed } = await importConfig(
    'model_list:\n- model_name: a\n  litellm_params:\n    model: openai/first\n    rpm: 1_000\n    model: openai/last\n',
  );
  expect(code).toBe(0);
  expect(catalog[0]?.targets[0]?.model).toBe('last');
  expect(assumed[0]?.place).toMatch(/:6$/);
});

const MAIN = `
include: [models.yaml, absent.yaml]
model_list:
- { model_name: first, litellm_params: { model: openai/first } }
credential_list:
- { credential_name: shared, credential_values: { api_key: os.environ/SHARED_KEY } }
`;
const MODELS = `
model_list:
- { model_name: second, litellm_params: { model: openai/second, litellm_credential_name: shared } }
- { model_name: third, litellm_params: { model: openai/third, litellm_credential_name: of-the-database } }
- { model_name: 4, litellm_params: { model: openai/fourth } }
`;

test('files that a configuration includes are read with it, and their errors have their own lines', async () => {
  const importWith = (models: string) =>
    importText(folder, 'litellm', MAIN, [], undefined, { files: { 'models.yaml': models } });
  const broken = await importWith(MODELS);
  expect(broken.code).toBe(2);
  expect(broken.err).toMatch(/models\.yaml:5: model_list\[3\]\.model_name: must be a string\n$/);
  const whole = await importWith(MODELS.replace('model_name: 4', 'model_name: fourth'));
  expect(whole.catalog.map(({ targets: [first] }) => [first?.model, first?.secret])).toEqual([
    ['first', 'OPENAI_API_KEY'],
    ['second', 'SHARED_KEY'],
    ['third', 'of-the-database'],
    ['fourth', 'OPENAI_API_KEY'],
  ]);
  expect(whole).toMatchObject({ missing: ['SHARED_KEY', 'of-the-database'] });
  expect(whole.assumed[0]).toMatchObject({ place: 'include absent.yaml' });
  expect(whole.noCounterpart.map(({ place }) => place)).toEqual([
    'model_list[2].litellm_params.litellm_credential_name',
  ]);
});

test('what a deployment states of its model is not listed as unused, nor is anything of one that is left out', async () => {
  const { catalog, noCounterpart } = await importConfig(`
model_list:
- model_name: small
  litellm_params:
    { model: openai/small, max_input_tokens: 9_000, supports_vision: false, mode: chat, rpm: 5, extra_body: { top_k: 1 } }
  model_info: { description: for short texts }
- { model_name: big, litellm_params: { model: vertex_ai/big, vertex_project: acme } }
`);
  expect(catalog[0]).toMatchObject({ context_length: 9_000, vision: false });
  expect(reasonsOf(noCounterpart)).toEqual({
    'model_list[0].litellm_params.rpm': expect.stringContaining('quota of a target'),
    'model_list[0].litellm_params.extra_body': 'callers send it',
    'model_list[0].model_info.description': 'the list of models has no such member',
    'model_list[1].litellm_params.model': expect.stringContaining('Vertex AI'),
  });
});

test('a file without a model that can be called names what is wrong with each, and nothing else', async () => {
  const { err } = await importConfig(
    'model_list:\n- { model_name: a, litellm_params: { model: chatgpt/a } }\nlitellm_settings: { drop_params: true }\n',
  );
  expect(err.trim().split('\n').slice(1)).toEqual([
    expect.stringMatching(/^ {2}model_list\[0\]\.litellm_params\.model: chatgpt\/a: .*sign-in/),
  ]);
});
