import { describe, expect, test } from 'vitest';
import { Target } from '../../lambdas/catalog/parse-models.ts';
import { billedInput, GPT_5_6, unmarkedInput } from '../support/caching-provider/bill.ts';
import { sample } from '../support/seeds.ts';
import { MODEL, play, playDirect, recorded, startStage } from '../support/sessions/play.ts';
import { logOf, proofsOf, ratioOf } from '../support/sessions/proof.ts';

const BREAKPOINTS = { wire: 'chat', hasBreakpoints: true } as const;

describe('the billed input of a session through the router', () => {
  test.each(proofsOf('marks'))(
    'a client that marks, $name, pays at most $most of what it pays at the provider',
    async (proof) => {
      const stage = await startStage(proof.options);
      expect(await ratioOf(stage, proof)).toBeLessThanOrEqual(proof.most);
      expect(logOf(stage)).toHaveLength(recorded(String(proof.name)).requests.length);
    },
  );

  test.each(proofsOf('unmarked'))(
    'a client that does not mark on Claude, $name, pays at most $most of what it would pay unmarked',
    async (proof) => {
      const stage = await startStage(proof.options);
      expect(await ratioOf(stage, proof)).toBeLessThanOrEqual(proof.most);
    },
  );

  // In `npm test` the short one; a recorded session is as long as the other.
  test.each(sample(proofsOf('loop'), 2))(
    'a loop of $name steps around the SDK pays at most $most of what it would pay unmarked',
    async (proof) => {
      const stage = await startStage(proof.options);
      expect(await ratioOf(stage, proof)).toBeLessThanOrEqual(proof.most);
      expect(logOf(stage)).toHaveLength(Number(proof.name));
    },
  );

  test.each(proofsOf('keyed'))(
    'Claude Code on a GPT target pays at most $most of the same requests with a key',
    async (proof) => {
      const stage = await startStage(proof.options);
      expect(await ratioOf(stage, proof)).toBeLessThanOrEqual(proof.most);
      const keys = logOf(stage).map(({ body }) => JSON.parse(body).prompt_cache_key);
      expect(new Set(keys).size).toBe(1);
      expect(keys[0]).toMatch(/^\S{16,64}$/);
    },
  );

  test('Claude Code on a target with breakpoints, as GPT-5.6, has its marks as breakpoints, and pays at most 1.02 of the same requests at the provider', async () => {
    const stage = await startStage(BREAKPOINTS);
    await play(stage, recorded('claude-code'));
    const bodies = logOf(stage).map(({ body }) =>
      JSON.stringify({ ...JSON.parse(body), prompt_cache_key: 'session' }),
    );
    const direct = await playDirect(bodies, BREAKPOINTS);
    const [through, own] = [logOf(stage), direct].map((log) => billedInput(log, GPT_5_6));
    expect((through ?? 0) / (own ?? 1)).toBeLessThanOrEqual(1.02);
    expect((through ?? 0) / unmarkedInput(logOf(stage))).toBeLessThanOrEqual(0.25);
    for (const { marks } of logOf(stage)) expect(marks).toBeGreaterThanOrEqual(1);
  });

  test('a chat caller without caching pays a target with breakpoints for no write', async () => {
    const stage = await startStage(BREAKPOINTS);
    const text = 'question '.padEnd(40_000, 'lorem ipsum ');
    const messages = [{ role: 'user', content: text }];
    const body = { model: MODEL, messages, prompt_cache_options: { mode: 'explicit' } };
    await play(stage, { path: '/v1/chat/completions', requests: [{ headers: {}, body }] });
    expect(billedInput(logOf(stage), GPT_5_6)).toBe(unmarkedInput(logOf(stage)));
  });

  test.each(proofsOf('single'))(
    'single turns without tools pay for no write on $name',
    async (proof) => {
      const stage = await startStage(proof.options);
      expect(await ratioOf(stage, proof)).toBe(proof.most);
    },
  );
});

/** An agent's steps, each with a result of a tool and a reminder by the system, as Claude Code's since its version 2.1. */
const remindedSteps = (count: number) => {
  const messages: object[] = [{ role: 'user', content: 'task '.repeat(4_000) }];
  return Array.from({ length: count }, (_, step) => {
    const id = `toolu_${step}`;
    if (step > 0) {
      const left = 200_000 - step * 2_000;
      messages.push(
        { role: 'assistant', content: [{ type: 'tool_use', id, name: 'read', input: { step } }] },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: id, content: `line ${step} `.repeat(400) }],
        },
        { role: 'system', content: `<total_tokens>${left} tokens left</total_tokens>` },
      );
    }
    const tools = [{ name: 'read', input_schema: { type: 'object' } }];
    return { headers: {}, body: { model: MODEL, max_tokens: 100, tools, messages: [...messages] } };
  });
};

/** A target of the catalog, with what the name of its model and its preset say. */
const targetOf = (protocol: string, model: string, preset = '') =>
  Target.parse({
    ...{ upstream: 'vendor', protocol, baseUrl: 'https://api.example.com' },
    ...{ model, secret: 'secret', ...(preset && { profile: preset }) },
  });

test.each([
  ['deepseek/deepseek-v4-pro', ''],
  ['zai-org/GLM-5.3', ''],
  ['openai/gpt-oss-120b', ''],
  ['MiniMax-M3', ''],
  ['own-name', 'deepseek'],
  ['own-name', 'glm-5.3'],
  ['own-name', 'gpt-oss'],
  ['own-name', 'groq'],
])(
  'an agent with a reminder by the system in each step reads its history from the cache of a provider that puts system messages first: model %s, preset %s',
  async (model, preset) => {
    const { systemTurns, profile = {} } = targetOf('chat', model, preset);
    const targets = [{ upstream: 'vendor', model, systemTurns, profile }];
    const stage = await startStage({ wire: 'chat', hoistsSystem: true, targets });
    await play(stage, { path: '/v1/messages', requests: remindedSteps(12) });
    const [, ...later] = logOf(stage);
    for (const { read, fresh } of later) expect(read / (read + fresh)).toBeGreaterThan(0.7);
  },
);

test.each([
  ['qwen3-coder-plus', false],
  ['kimi-k3', false],
  ['anthropic.claude-sonnet-5', true],
])(
  'the billing line of an agent reaches a messages target of the model %s: %s',
  async (model, isSent) => {
    const { profile = {} } = targetOf('messages', model);
    const stage = await startStage({ wire: 'messages', targets: [{ model, profile }] });
    const requests = ['0a1b2', '3c4d5'].map((cch) => {
      const system = [
        { type: 'text', text: `x-anthropic-billing-header: cc_version=2.1.280; cch=${cch};` },
        { type: 'text', text: 'You are an agent.' },
      ];
      const messages = [{ role: 'user', content: 'hello' }];
      return { headers: {}, body: { model: MODEL, max_tokens: 100, system, messages } };
    });
    await play(stage, { path: '/v1/messages', requests });
    const bodies = new Set(logOf(stage).map(({ body }) => body));
    expect([...bodies].some((body) => body.includes('cch='))).toBe(isSent);
    expect(bodies.size).toBe(isSent ? 2 : 1);
  },
);
