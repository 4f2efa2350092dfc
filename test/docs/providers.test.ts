import { readFileSync } from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parseModels, Target } from '../../lambdas/catalog/parse-models.ts';
import { PRESETS } from '../../lambdas/catalog/profiles.ts';
import { credentialOf } from '../../lambdas/protocols/protocol.ts';
import { upstreamProtocols } from '../../lambdas/protocols/protocols.ts';
import { urlOf } from '../../lambdas/upstreams/send.ts';
import { generationOf, refusalOf } from '../support/claude-generations.ts';
import { createCountingClock } from '../support/counting-clock.ts';
import { startFleet } from '../support/fleet.ts';
import { startGenerationUpstream } from '../support/generation-upstream.ts';
import { CANARIES } from '../support/leak-watch.ts';
import { modelOn } from '../support/models.ts';
import { send } from '../support/send.ts';

const text = readFileSync(new URL('../../docs/providers.md', import.meta.url), 'utf8');

/** What the guide says of each provider: the addresses in words, and a catalog. */
const providers = text
  .split(/^## /m)
  .slice(1)
  .filter((section) => section.includes('```json'))
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
      'Google',
      'DeepSeek',
      'OpenRouter',
      'Groq',
      'Together',
      'vLLM and Ollama',
    ]);
  });

  test.each(providers)('the catalog of $name calls the documented addresses', (provider) => {
    const called = provider.targets.map((target) => {
      const path = upstreamProtocols[target.protocol].path({ ...target, ...LIMIT });
      return urlOf(target.baseUrl, path).toString();
    });
    expect(called.toSorted()).toEqual(provider.addresses.toSorted());
  });
});

describe('the other providers of the guide', () => {
  const [, section = ''] = text.split('## Other providers');
  const rows = [
    ...section.matchAll(/^\| ([^|]+) \| `(\w+)` \| `(https:[^`]+)` \| (?:`([^`]+)` )?\|$/gm),
  ].map(([, name, protocol, baseUrl, profile]) => ({ name, protocol, baseUrl, profile }));

  test('docs/providers.md lists addresses of Gemini, GLM, Grok, Kimi, MiniMax, Mistral and Qwen', () => {
    const models = new Set(rows.map(({ name }) => name?.split(',')[0]));
    expect([...models]).toEqual(['Gemini', 'GLM', 'Grok', 'Kimi', 'MiniMax', 'Mistral', 'Qwen']);
  });

  test.each(rows)(
    'the row $name with $protocol is a target with a secret and a model',
    ({ name: _, ...row }) => {
      const profile = row.profile === undefined ? {} : { profile: row.profile };
      const { protocol, baseUrl } = row;
      const target = { upstream: 'a', protocol, baseUrl, model: 'm', secret: 's', ...profile };
      expect(Target.safeParse(target).error).toBeUndefined();
    },
  );
});

describe('the profiles of the guide', () => {
  const claudes = providers.flatMap(({ targets }) =>
    targets.filter(({ model, protocol }) => protocol === 'messages' && model.includes('claude')),
  );

  test('docs/providers.md has at least four messages targets of Claude', () => {
    expect(claudes.length).toBeGreaterThanOrEqual(4);
  });

  test.each(claudes.map((target) => [target.upstream, target] as const))(
    'reasoning_effort gets 200 at the first call from the Claude example of %s',
    async (_, { auth: __, ...target }) => {
      const generation = generationOf(target.model);
      if (!generation) throw new Error(`no generation of ${target.model}`);
      const upstream = await startGenerationUpstream(refusalOf(generation));
      onTestFinished(upstream.close);
      const models = [modelOn([{ secret: 'secret', ...target, baseUrl: upstream.url }])];
      const clock = createCountingClock(Date.UTC(2026, 10, 22, 12));
      const fleet = await startFleet({ models, clock, secret: CANARIES.upstreamKey });
      onTestFinished(fleet.close);
      for (const effort of ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']) {
        const { status } = await send(fleet.urls[0] ?? '', '/v1/chat/completions', {
          method: 'POST',
          headers: { authorization: `Bearer ${fleet.key}` },
          body: JSON.stringify({
            model: 'vendor/model',
            messages: [{ role: 'user', content: 'hi' }],
            reasoning_effort: effort,
          }),
        });
        expect([effort, status, upstream.take().length]).toEqual([effort, 200, 1]);
      }
    },
  );

  test('docs/providers.md lists every preset, and every member of a profile', () => {
    const [, section = ''] = text.split('## Profiles');
    const first = [...section.matchAll(/^\| ((?:`[^`]+`(?:, )?)+) \|/gm)].flatMap(([, cell = '']) =>
      [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
    );
    const members = Object.keys(PRESETS).length;
    expect(first.slice(-members)).toEqual(Object.keys(PRESETS));
    const base = {
      upstream: 'a',
      protocol: 'chat',
      baseUrl: 'http://a.test',
      model: 'm',
      secret: 's',
    };
    const unknown = Target.safeParse({ ...base, profile: { unknown: true } });
    expect(unknown.success).toBe(false);
    for (const name of first.slice(0, -members)) {
      const issues = Target.safeParse({ ...base, profile: { [name]: null } }).error?.issues;
      expect([name, JSON.stringify(issues)]).toEqual([
        name,
        expect.not.stringContaining('unrecognized_keys'),
      ]);
    }
  });
});

describe('the credential', () => {
  test.each([
    ['chat', undefined, { authorization: 'Bearer secret' }],
    ['chat', 'api-key', { 'api-key': 'secret' }],
    ['messages', undefined, { 'x-api-key': 'secret' }],
    ['messages', 'authorization', { authorization: 'Bearer secret' }],
    ['messages', 'x-api-key', { 'x-api-key': 'secret' }],
    ['responses', undefined, { authorization: 'Bearer secret' }],
    ['gemini', undefined, { 'x-goog-api-key': 'secret' }],
    ['gemini', 'authorization', { authorization: 'Bearer secret' }],
  ] as const)(
    'the credential of a %s target with authHeader %s is in one header',
    (name, authHeader, headers) => {
      expect(credentialOf(upstreamProtocols[name], { authHeader }, 'secret')).toEqual(headers);
    },
  );
});
