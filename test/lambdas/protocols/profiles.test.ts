import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Target } from '../../../lambdas/catalog/parse-models.ts';
import { CLAUDE_GENERATIONS, refusalOf } from '../../support/claude-generations.ts';
import { createCountingClock } from '../../support/counting-clock.ts';
import { type Fleet, startFleet } from '../../support/fleet.ts';
import {
  type Generated,
  type GenerationUpstream,
  type Refusal,
  startGenerationUpstream,
} from '../../support/generation-upstream.ts';
import { GPT_GENERATIONS, gptRefusalOf } from '../../support/gpt-generations.ts';
import { CANARIES } from '../../support/leak-watch.ts';
import { modelOn, targetAt } from '../../support/models.ts';
import {
  bodyOf,
  CHAT_TOOLS,
  FORMS,
  type Form,
  messages,
  PATHS,
  TOOLS,
} from '../../support/request-forms.ts';
import { send } from '../../support/send.ts';
import { parseJson } from '../../support/sse-text.ts';

const CLAUDES = Object.keys(CLAUDE_GENERATIONS);
const GPTS = Object.keys(GPT_GENERATIONS);
const clock = createCountingClock(Date.UTC(2026, 10, 22, 12));
const upstreams = new Map<string, GenerationUpstream>();
let fleet: Fleet;

/** A target as the catalog's schema reads it. */
const read = (url: string, profile: unknown, extra: object = {}): Target =>
  Target.parse({ ...targetAt(url, { protocol: 'messages' }), profile, ...extra });

/** Profiles that are no generation of Claude or GPT, with the body's fields in the test that uses them. */
const OTHERS: Record<string, [profile: unknown, extra?: object]> = {
  groq: ['groq', { protocol: 'chat' }],
  'gpt-oss': ['gpt-oss', { protocol: 'chat' }],
  narrow: [{ schemaWithout: ['$schema', 'format'], maxTools: 2, media: [] }, { protocol: 'chat' }],
  forwarding: [
    { betas: 'forward' },
    { headers: { 'Anthropic-Beta': 'context-management-2025-06-27' } },
  ],
  listed: [{ betas: ['mcp-client-2025-11-20'] }],
};

type Rule = (request: Pick<Generated, 'body'>) => Refusal;

/** What vendors of one model of their own reject, in their words. */
const RULES: Record<string, Rule> = {
  'kimi-k2.5': ({ body }) => {
    if (body.temperature !== undefined && body.temperature !== 1) {
      return 'invalid temperature: only 1 is allowed for this model';
    }
    if (body.tool_choice !== undefined && body.tool_choice !== 'auto') {
      return "tool_choice 'required' is incompatible with thinking enabled";
    }
    const text = JSON.stringify(body.messages);
    return text.includes('"tool_calls"') && !text.includes('"reasoning_content"')
      ? 'thinking is enabled but reasoning_content is missing in assistant tool call message at index 1'
      : undefined;
  },
  'grok-4': ({ body }) =>
    body.presence_penalty === undefined
      ? undefined
      : 'Model grok-4.5 does not support parameter presencePenalty.',
  mistral: ({ body }) =>
    (body.messages as { role: string }[]).some(
      ({ role }, index, all) => role === 'user' && all[index - 1]?.role === 'tool',
    )
      ? "Unexpected role 'user' after role 'tool'"
      : undefined,
};
const VENDORS = Object.keys(RULES);

/** What the vendor of a preset rejects. */
const strictRule = (name: string): Rule | undefined => {
  const [claude, gpt] = [CLAUDE_GENERATIONS[name], GPT_GENERATIONS[name]];
  if (claude) return refusalOf(claude);
  return gpt ? gptRefusalOf(gpt) : RULES[name];
};

beforeAll(async () => {
  const start = async (name: string, profile: unknown, extra: object = {}) => {
    const upstream = await startGenerationUpstream(strictRule(name));
    upstreams.set(name, upstream);
    return modelOn([read(upstream.url, profile, { upstream: name.replace('.', '-'), ...extra })], {
      id: `vendor/${name}`,
      vision: true,
    });
  };
  const models = await Promise.all([
    ...CLAUDES.map((name) => start(name, name)),
    ...[...GPTS, ...VENDORS].map((name) => start(name, name, { protocol: 'chat' })),
    ...Object.entries(OTHERS).map(([name, [profile, extra]]) => start(name, profile, extra)),
  ]);
  fleet = await startFleet({ models, clock, secret: CANARIES.upstreamKey });
});
afterAll(async () => {
  await fleet.close();
  await Promise.all([...upstreams.values()].map(({ close }) => close()));
});

const ask = async (model: string, form: Form, headers: Record<string, string> = {}) => {
  const sent = await send(fleet.urls[0] ?? '', PATHS[form.path], {
    method: 'POST',
    headers: { authorization: `Bearer ${fleet.key}`, ...headers },
    body: JSON.stringify({ model: `vendor/${model}`, ...bodyOf(form) }),
  });
  const received = upstreams.get(model)?.take() ?? [];
  const { error } = parseJson(sent.text) as { error?: Record<string, unknown> };
  return {
    ...sent,
    error,
    received,
    wire: received[0]?.body ?? {},
    dropped: sent.headers['x-router-dropped'],
  };
};

describe('a generation of models by its preset', () => {
  test.each([...CLAUDES, ...GPTS, ...VENDORS])(
    'every form of thinking, effort and sampling gets 200 from a strict %s at the first call',
    async (name) => {
      for (const [form, sent] of Object.entries(FORMS)) {
        const { status, received, text } = await ask(name, sent);
        expect([form, status, received.length, text]).toEqual([form, 200, 1, expect.any(String)]);
      }
    },
  );

  test("a reminder after an agent's results reaches a strict Mistral in another turn", async () => {
    const messages = [
      { role: 'user', content: 'a' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'abcdefghi', name: 'f', input: {} }] },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'abcdefghi', content: 'b' },
          { type: 'text', text: '<system-reminder>c</system-reminder>' },
        ],
      },
    ];
    const { status, wire } = await ask('mistral', { path: 'messages', fields: { messages } });
    expect(status).toBe(200);
    expect((wire.messages as { role: string }[]).map(({ role }) => role)).toEqual([
      ...['user', 'assistant', 'tool', 'assistant', 'user'],
    ]);
  });

  test('reasoning_effort becomes a thinking budget below the token cap where no adaptive form exists', async () => {
    const high = await ask('claude-4.5', {
      path: 'chat',
      fields: { reasoning_effort: 'high', temperature: 0.2 },
    });
    expect(high.wire).toMatchObject({ thinking: { type: 'enabled', budget_tokens: 16_000 } });
    expect(Object.keys(high.wire)).not.toContain('temperature');
    const low = await ask('claude-4.5', { path: 'chat', fields: { reasoning_effort: 'low' } });
    expect(low.wire).toMatchObject({ thinking: { budget_tokens: 2048 } });
    expect([high.wire.output_config, low.dropped]).toEqual([undefined, undefined]);
  });

  test('a thinking budget becomes adaptive thinking of the same effort where no budget exists', async () => {
    const fields = { thinking: { type: 'enabled', budget_tokens: 8_000 } };
    const { wire } = await ask('claude-5', { path: 'messages', fields });
    expect(wire).toMatchObject({
      thinking: { type: 'adaptive' },
      output_config: { effort: 'medium' },
    });
  });

  test('an effort that the model lacks becomes the next lower one and is named in x-router-dropped', async () => {
    const fields = { thinking: { type: 'adaptive' }, output_config: { effort: 'xhigh' } };
    const { wire, dropped } = await ask('claude-4.6', { path: 'messages', fields });
    expect([wire.output_config, dropped]).toEqual([{ effort: 'high' }, 'output_config.effort']);
  });

  test('thinking that cannot be turned off runs at the lowest effort and is named in x-router-dropped', async () => {
    const fields = { thinking: { type: 'disabled' } };
    const { wire, dropped } = await ask('claude-5.5', { path: 'messages', fields });
    expect([wire.thinking, wire.output_config]).toEqual([undefined, { effort: 'low' }]);
    expect(dropped).toBe('thinking');
  });

  test('thinking that cannot be turned off runs between tools where the model can', async () => {
    const fields = { thinking: { type: 'disabled' } };
    const { wire, dropped } = await ask('claude-sonnet-5.5', { path: 'messages', fields });
    expect([wire.thinking, dropped]).toEqual([{ type: 'between_tools' }, 'thinking']);
  });

  test('thinking between tools becomes adaptive where the model has no such form, and is named', async () => {
    const fields = { thinking: { type: 'between_tools' } };
    const same = await ask('claude-sonnet-5.5', { path: 'messages', fields });
    expect([same.wire.thinking, same.dropped]).toEqual([{ type: 'between_tools' }, undefined]);
    const { wire, dropped } = await ask('claude-5.5', { path: 'messages', fields });
    expect([wire.thinking, dropped]).toEqual([{ type: 'adaptive' }, 'thinking']);
  });

  test('GET /v1/models shows the forms of thinking and the efforts of a model whose profile states them', async () => {
    const { text } = await send(fleet.urls[0] ?? '', '/v1/models', {
      headers: { authorization: `Bearer ${fleet.key}` },
    });
    const { data } = parseJson(text) as { data: { id: string; reasoning?: unknown }[] };
    const shown = (id: string) => data.find((model) => model.id === `vendor/${id}`)?.reasoning;
    expect(shown('claude-sonnet-5.5')).toEqual({
      forms: ['adaptive', 'between_tools'],
      efforts: ['low', 'medium', 'high', 'xhigh', 'max'],
    });
    expect(shown('gpt-oss')).toEqual({ efforts: ['low', 'medium', 'high'] });
    expect(shown('listed')).toBeUndefined();
  });

  test("a tool that may not be forced is asked for at the end of the user's last turn", async () => {
    const fields = { ...TOOLS, tool_choice: { type: 'tool', name: 'f' }, system: 'Be brief.' };
    const { wire, dropped } = await ask('claude-5.5', { path: 'messages', fields });
    expect([wire.tool_choice, wire.system]).toEqual([undefined, 'Be brief.']);
    expect(JSON.stringify(wire.messages)).toMatch(/"hi".*Call the tool 'f'/);
    expect(dropped).toBe('tool_choice');
  });

  test('a prefilled response gets 400 where the model rejects one, and no unit is charged', async () => {
    const before = await fleet.charged();
    const fields = { messages: [...messages, { role: 'assistant', content: 'Well' }] };
    const { status, error, received } = await ask('claude-5', { path: 'messages', fields });
    expect([status, received]).toEqual([400, []]);
    expect(error?.message).toContain("'a last turn of the assistant'");
    expect(await fleet.charged()).toBe(before);
    expect(await ask('claude-4.5', { path: 'messages', fields })).toMatchObject({ status: 200 });
  });
});

describe('a chat model by its preset', () => {
  test('next to function tools the effort is none where the provider rejects both, also if none is asked for', async () => {
    const fields = { ...TOOLS, output_config: { effort: 'high' }, thinking: { type: 'adaptive' } };
    const { wire, dropped } = await ask('gpt-5.6', { path: 'messages', fields });
    expect([wire.reasoning_effort, dropped]).toEqual(['none', 'output_config.effort']);
    const unasked = await ask('gpt-5.6', { path: 'chat', fields: CHAT_TOOLS });
    expect([unasked.wire.reasoning_effort, unasked.dropped]).toEqual(['none', undefined]);
    const { wire: alone } = await ask('gpt-5.6', {
      path: 'chat',
      fields: { reasoning_effort: 'max' },
    });
    expect(alone).toMatchObject({ reasoning_effort: 'max', max_completion_tokens: 20_000 });
  });

  test('sampling fields are left out next to an effort, and sent without one', async () => {
    const sampling = { temperature: 0.2, frequency_penalty: 0.5, logprobs: true };
    const fields = { ...sampling, reasoning_effort: 'low' };
    const { wire, dropped } = await ask('gpt-5.2', { path: 'chat', fields });
    expect(Object.keys(wire)).not.toContain('temperature');
    expect(dropped).toBe('temperature, frequency_penalty, logprobs');
    expect((await ask('gpt-5.2', { path: 'chat', fields: sampling })).wire).toMatchObject(sampling);
  });

  test('a sampling field at its default is left out without being named', async () => {
    const fields = { temperature: 1, top_p: 1, presence_penalty: 0 };
    const { wire, dropped } = await ask('gpt-5', { path: 'chat', fields });
    expect(Object.keys(wire)).not.toContain('temperature');
    expect([wire.presence_penalty, dropped]).toEqual([undefined, undefined]);
  });

  test('earlier reasoning and logprobs are left out for Groq', async () => {
    const earlier = { role: 'assistant', content: 'a', reasoning_content: 'because' };
    const fields = { messages: [...messages, earlier, ...messages], logprobs: true };
    const { wire, dropped } = await ask('groq', { path: 'chat', fields });
    expect(JSON.stringify(wire)).not.toMatch(/because|logprobs/);
    expect(dropped).toBe('logprobs, messages[assistant].reasoning_content');
  });
});

describe('limits of a profile', () => {
  const toolOf = (name: string) => ({
    type: 'function',
    function: {
      name,
      parameters: {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        type: 'object',
        properties: { format: { type: 'string', format: 'date' } },
      },
    },
  });

  test('keywords that the provider rejects are removed from tool schemas, properties of that name are kept', async () => {
    const { wire } = await ask('narrow', { path: 'chat', fields: { tools: [toolOf('f')] } });
    const parameters = { type: 'object', properties: { format: { type: 'string' } } };
    expect(wire.tools).toEqual([{ type: 'function', function: { name: 'f', parameters } }]);
  });

  test('more tools or other media than the model accepts get 400 that names them', async () => {
    const tools = ['f', 'g', 'h'].map(toolOf);
    const url = 'https://example.com/a.png';
    const content = [{ type: 'image_url', image_url: { url } }];
    const many = await ask('narrow', { path: 'chat', fields: { tools } });
    const image = await ask('narrow', {
      path: 'chat',
      fields: { messages: [{ role: 'user', content }] },
    });
    expect([many.status, image.status]).toEqual([400, 400]);
    expect([many.error?.message, image.error?.message]).toEqual([
      "The model 'vendor/narrow' does not support 'more than 2 tools'.",
      "The model 'vendor/narrow' does not support 'image'.",
    ]);
  });
});

describe('betas of callers', () => {
  const BETAS = 'mcp-client-2025-11-20, context-1m-2025-08-07,mcp-client-2025-11-20';
  const fields = { context_management: { edits: [] } };
  const betasAt = async (model: string) => {
    const headers = { 'anthropic-beta': BETAS };
    const { received, ...sent } = await ask(model, { path: 'messages', fields }, headers);
    return { ...sent, betas: received[0]?.headers['anthropic-beta'] };
  };

  test('forwarded betas are merged with those of the target, each once', async () => {
    const { betas, wire, dropped } = await betasAt('forwarding');
    expect(betas).toBe('context-management-2025-06-27,mcp-client-2025-11-20,context-1m-2025-08-07');
    expect([wire.context_management, dropped]).toEqual([fields.context_management, undefined]);
  });

  test('of a list of betas only its members are forwarded', async () => {
    expect((await betasAt('listed')).betas).toBe('mcp-client-2025-11-20');
  });

  test('a beta of the caller and the field that it allows are sent where the profile lists no betas', async () => {
    const headers = { 'anthropic-beta': 'context-management-2025-06-27' };
    const { wire, received } = await ask('claude-4.5', { path: 'messages', fields }, headers);
    expect([wire.context_management, received[0]?.headers['anthropic-beta']]).toEqual([
      fields.context_management,
      headers['anthropic-beta'],
    ]);
  });
});

describe('edits of the conversation by a messages vendor', () => {
  const [CLEAR, COMPACT] = ['clear_tool_uses_20250919', 'compact_20260112'];
  const asked = (beta: string, ...types: string[]) => {
    const fields = { context_management: { edits: types.map((type) => ({ type })) } };
    return ask('claude-4.5', { path: 'messages', fields }, beta ? { 'anthropic-beta': beta } : {});
  };

  test.each([
    ['context-management-2025-06-27', CLEAR],
    ['compact-2026-01-12', COMPACT],
    ['compact-2026-01-12,context-management-2025-06-27', COMPACT],
  ])(
    'a request with the beta %s has its edits sent, as the vendor documents',
    async (beta, type) => {
      const { wire, dropped } = await asked(beta, type);
      expect([wire.context_management, dropped]).toEqual([{ edits: [{ type }] }, undefined]);
    },
  );

  test('edits without their beta are left out and named, but for those of thinking', async () => {
    const { wire, dropped } = await asked('', CLEAR, 'clear_thinking_20251015', COMPACT);
    expect([wire.context_management, dropped]).toEqual([
      undefined,
      `context_management.edits[${CLEAR}], context_management.edits[${COMPACT}]`,
    ]);
  });
});

describe('fields that the target protocol lacks', () => {
  test.each([
    [
      'chat',
      'claude-4.6',
      { seed: 1, logit_bias: { 5: 1 }, store: true, logprobs: false },
      'seed, logit_bias, store',
    ],
    ['chat', 'claude-4.6', { reasoning_effort: 'low', temperature: 0.2 }, 'temperature'],
    [
      'messages',
      'gpt-oss',
      { top_k: 3, task: 1, metadata: { user_id: 'u' }, container: 'c' },
      'top_k, task, container',
    ],
    ['messages', 'gpt-oss', { metadata: {}, mcp_servers: [] }, undefined],
    ['messages', 'gpt-oss', { cache_control: { type: 'ephemeral' } }, 'cache_control'],
  ] as const)(
    'a request of %s to %s with fields names those that may change the response',
    async (path, model, fields, names) => {
      const { status, dropped } = await ask(model, { path, fields });
      expect([status, dropped]).toEqual([200, names]);
    },
  );

  test.each([
    ['chat', 'claude-4.6', { web_search_options: {} }, 'web_search_options'],
    [
      'messages',
      'gpt-oss',
      { mcp_servers: [{ type: 'url', url: 'https://a.test' }] },
      'mcp_servers',
    ],
  ] as const)(
    'a request of %s to %s that would lose its tools gets 400 that names the field',
    async (path, model, fields, name) => {
      const { status, error, received } = await ask(model, { path, fields });
      expect([status, received]).toEqual([400, []]);
      expect(error?.message).toContain(`does not support '${name}'.`);
    },
  );
});

describe('the header x-router-strict', () => {
  const form: Form = { path: 'chat', fields: { temperature: 0.2, seed: 1 } };

  test('a strict request whose fields would be dropped gets 400 that lists them, for no unit', async () => {
    const before = await fleet.charged();
    const { status, error, received } = await ask('gpt-5', form, { 'x-router-strict': '1' });
    expect([status, error?.param, received]).toEqual([400, 'temperature', []]);
    expect(error?.message).toContain('accepts temperature.');
    expect(await fleet.charged()).toBe(before);
  });

  test.each([
    ['true', 400],
    ['True', 400],
    ['0', 200],
    ['false', 200],
    ['', 200],
  ])(
    'a request whose fields would be dropped, with the value "%s", gets %i',
    async (value, wanted) => {
      const { status } = await ask('gpt-5', form, { 'x-router-strict': value });
      expect(status).toBe(wanted);
    },
  );

  test('a strict request that loses no field gets 200', async () => {
    const fields = { reasoning_effort: 'low' };
    const { status } = await ask('gpt-5', { path: 'chat', fields }, { 'x-router-strict': '1' });
    expect(status).toBe(200);
  });
});
