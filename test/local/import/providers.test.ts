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
  [
    'bedrock/us-west-2/anthropic.claude-opus-4-6-v1',
    {},
    'https://bedrock-mantle.us-west-2.api.aws/anthropic',
    'anthropic.claude-opus-4-6',
  ],
  [
    'us.anthropic.claude-sonnet-4-5-20250929-v1:0',
    { region: 'us-east-1' },
    'https://bedrock-mantle.us-east-1.api.aws/anthropic',
    'anthropic.claude-sonnet-4-5',
  ],
  [
    'azure_ai/claude-sonnet-4-5',
    { base: 'https://acme.services.ai.azure.com' },
    'https://acme.services.ai.azure.com/anthropic',
    'claude-sonnet-4-5',
  ],
  [
    'azure_ai/grok-3',
    { base: 'https://acme.services.ai.azure.com/' },
    'https://acme.services.ai.azure.com/models?api-version=2024-05-01-preview',
    'grok-3',
  ],
  [
    'azure_ai/grok-3',
    { base: 'https://acme.services.ai.azure.com/models/chat/completions?api-version=2025-01-01' },
    'https://acme.services.ai.azure.com/models?api-version=2025-01-01',
    'grok-3',
  ],
  [
    'azure_ai/grok-3',
    { base: 'https://acme.services.ai.azure.com/openai/v1/' },
    'https://acme.services.ai.azure.com/openai/v1',
    'grok-3',
  ],
  [
    'azure_ai/phi-4',
    { base: 'https://phi.eastus.models.ai.azure.com/v1' },
    'https://phi.eastus.models.ai.azure.com/v1',
    'phi-4',
  ],
  [
    'cloudflare/@cf/acme/small',
    { env: { CLOUDFLARE_ACCOUNT_ID: 'a1' } },
    'https://api.cloudflare.com/client/v4/accounts/a1/ai/v1',
    '@cf/acme/small',
  ],
  [
    'cloudflare/@cf/acme/small',
    { base: 'https://api.cloudflare.com/client/v4/accounts/a2/ai/run/' },
    'https://api.cloudflare.com/client/v4/accounts/a2/ai/v1',
    '@cf/acme/small',
  ],
  ['cohere/command-a', {}, 'https://api.cohere.ai/compatibility/v1', 'command-a'],
  [
    'llama-3',
    { base: 'https://api.groq.com/openai/v1/' },
    'https://api.groq.com/openai/v1',
    'llama-3',
  ],
  [
    'hosted_vllm/own',
    { env: { HOSTED_VLLM_API_BASE: 'http://vllm.acme.example/v1' } },
    'http://vllm.acme.example/v1',
    'own',
  ],
  // The variable of this machine may be the address of the proxy.
  [
    'openai/a',
    { env: { OPENAI_API_BASE: 'http://proxy.acme.example' } },
    'https://api.openai.com/v1',
    'a',
  ],
  ['ollama/llama3', {}, 'http://localhost:11434/v1', 'llama3'],
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
  [{ model: 'github_copilot/a' }, /sign-in/],
  [{ model: 'cloudflare/a' }, /variable CLOUDFLARE_ACCOUNT_ID is not set/],
  [{ model: 'azure_ai/a' }, /api_base is missing/],
  [{ model: 'azure_ai/a', base: 'acme' }, /not a URL/],
  [
    {
      model: 'bedrock/arn:aws:bedrock:us-east-1:1:application-inference-profile/x',
      region: 'us-east-1',
    },
    /name the model/,
  ],
  [{ model: 'unheard/of' }, /'unheard' is not known.*write openai\//],
])('%j has no counterpart, and the reason says what to do', (deployment, reason) => {
  expect(addressOf(deployment)).toMatch(reason);
});
