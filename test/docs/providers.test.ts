import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parseModels } from '../../lambdas/catalog/catalog.ts';
import { upstreamProtocols } from '../../lambdas/protocols/protocols.ts';
import { urlOf } from '../../lambdas/upstreams/http-upstream.ts';

const text = readFileSync(new URL('../../docs/providers.md', import.meta.url), 'utf8');

/** What the guide says of each provider: the addresses in words, and a catalog. */
const providers = text
  .split(/^## /m)
  .slice(1)
  .map((section) => {
    const models = parseModels(JSON.parse(/```json\n(.*?)\n```/s.exec(section)?.[1] ?? ''));
    return {
      name: section.split('\n')[0] ?? '',
      addresses: [...section.matchAll(/^- `POST (.+)`$/gm)].map(([, address]) => address),
      targets: models.flatMap(({ targets }) => targets),
    };
  });

const LIMIT = { maxOutputTokens: 1000 };

describe('the guide to providers', () => {
  test('docs/providers.md covers every provider', () => {
    expect(providers.map(({ name }) => name)).toEqual([
      'OpenAI',
      'Anthropic',
      'Amazon Bedrock',
      'Azure',
      'DeepSeek',
      'OpenRouter',
      'Groq',
      'Together',
      'vLLM and Ollama',
    ]);
  });

  test.each(providers)('the catalog of $name calls the documented addresses', (provider) => {
    const called = provider.targets.map((target) => {
      const { path } = upstreamProtocols[target.protocol].endpoint({ ...target, ...LIMIT });
      return urlOf(target.baseUrl, path).toString();
    });
    expect(called.toSorted()).toEqual(provider.addresses.toSorted());
  });
});

describe('the credential', () => {
  const VERSION = { 'anthropic-version': expect.any(String) };

  test.each([
    ['chat', undefined, { authorization: 'Bearer secret' }],
    ['chat', 'api-key', { 'api-key': 'secret' }],
    ['messages', undefined, { 'x-api-key': 'secret', ...VERSION }],
    ['messages', 'authorization', { authorization: 'Bearer secret', ...VERSION }],
    ['messages', 'x-api-key', { 'x-api-key': 'secret', ...VERSION }],
  ] as const)(
    'the credential of a %s target with authHeader %s is in one header',
    (name, authHeader, headers) => {
      const endpoint = upstreamProtocols[name].endpoint({ model: 'm', authHeader, ...LIMIT });
      const url = urlOf('https://example.com', endpoint.path);
      const unsigned = { secret: 'secret', url, body: new Uint8Array(), now: 0 };
      expect(endpoint.headers(unsigned)).toEqual(headers);
    },
  );
});
