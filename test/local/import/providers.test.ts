import { expect, test } from 'vitest';
import { addressOf } from '../../../local/import/providers.ts';

const AZURE = 'https://acme.openai.azure.com/';

/** Forms of `litellm_params`, and the `POST` line of docs/providers.md that each has to become. */
const FORMS: [model: string, more: object, url: string, name: string][] = [
  ['gpt-5', {}, 'https://api.openai.com/v1', 'gpt-5'],
  ['openai/gpt-5', {}, 'https://api.openai.com/v1', 'gpt-5'],
  ['openai/responses/gpt-5', {}, 'https://api.openai.com/v1', 'gpt-5'],
  [
    'openai/acme/own',
    { base: 'https://vllm.acme.example/v1/' },
    'https://vllm.acme.example/v1',
    'acme/own',
  ],
  [
    'acme/own',
    { provider: 'openai', base: 'https://vllm.acme.example/v1' },
    'https://vllm.acme.example/v1',
    'acme/own',
  ],
  ['claude-sonnet-5-5', {}, 'https://api.anthropic.com', 'claude-sonnet-5-5'],
  [
    'anthropic/claude-sonnet-5-5',
    { base: 'https://api.anthropic.com/v1/messages' },
    'https://api.anthropic.com',
    'claude-sonnet-5-5',
  ],
  [
    'gemini/gemini-3.5-flash',
    {},
    'https://generativelanguage.googleapis.com/v1beta',
    'gemini-3.5-flash',
  ],
  ['azure/gpt-5', { base: AZURE }, 'https://acme.openai.azure.com/openai/v1', 'gpt-5'],
  [
    'azure/gpt-5',
    { base: AZURE, version: '2024-10-21' },
    'https://acme.openai.azure.com/openai/deployments/gpt-5?api-version=2024-10-21',
    'gpt-5',
  ],
  [
    'bedrock/us.anthropic.claude-haiku-4-5-20251001-v1:0',
    { region: 'eu-central-1' },
    'https://bedrock-mantle.eu-central-1.api.aws/anthropic',
    'anthropic.claude-haiku-4-5',
  ],
  [
    'bedrock/converse/openai.gpt-oss-120b-1:0',
    { region: 'eu-central-1' },
    'https://bedrock-runtime.eu-central-1.amazonaws.com/openai/v1',
    'openai.gpt-oss-120b-1:0',
  ],
  ['groq/openai/gpt-oss-20b', {}, 'https://api.groq.com/openai/v1', 'openai/gpt-oss-20b'],
  [
    'openrouter/anthropic/claude-sonnet-4.5',
    {},
    'https://openrouter.ai/api/v1',
    'anthropic/claude-sonnet-4.5',
  ],
  ['ollama/llama3', { base: 'http://127.0.0.1:11434' }, 'http://127.0.0.1:11434/v1', 'llama3'],
];

test.each(FORMS)('%s with %j is called below %s', (model, more, baseUrl, name) => {
  expect(addressOf({ model, ...more })).toMatchObject({ baseUrl, model: name });
});

test('the protocol is that of the provider, and of the mode at those that speak two', () => {
  const protocols = ['anthropic/a', 'gemini/a', 'openai/a', 'openai/responses/a'].map((model) =>
    addressOf({ model }),
  );
  expect(protocols).toMatchObject(
    ['messages', 'gemini', 'chat', 'responses'].map((protocol) => ({ protocol })),
  );
  expect(addressOf({ model: 'openai/a', mode: 'responses' })).toMatchObject({
    protocol: 'responses',
  });
});

test.each([
  [{ model: 'azure/a' }, /api_base is missing/],
  [{ model: 'bedrock/amazon.nova-pro-v1:0' }, /aws_region_name is missing/],
  [{ model: 'hosted_vllm/a' }, /api_base is missing/],
  [{ model: 'anthropic/*' }, /lists each model/],
  [{ model: 'gemini-3.5-flash' }, /Vertex AI/],
  [{ model: 'unheard/of' }, /'unheard' is not known/],
])('%j has no counterpart, and the reason says what to do', (deployment, reason) => {
  expect(addressOf(deployment)).toMatch(reason);
});
