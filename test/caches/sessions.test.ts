import { describe, expect, test } from 'vitest';
import {
  ANTHROPIC,
  type Billed,
  billedInput,
  GPT_5_6,
  OPENAI,
  unmarkedInput,
} from '../support/caching-provider/bill.ts';
import {
  directBodies,
  MODEL,
  play,
  playDirect,
  recorded,
  type Stage,
  startStage,
} from '../support/sessions/play.ts';
import { loopAnswer, runLoop } from '../support/sessions/sdk-loop.ts';

const logOf = ({ providers }: Stage): Billed[] => providers.flatMap(({ log }) => log);

const MESSAGES = { wire: 'messages' } as const;
const CHAT = { wire: 'chat' } as const;
const BREAKPOINTS = { wire: 'chat', hasBreakpoints: true } as const;

describe('the billed input of a session through the router', () => {
  test.each(['claude-code', 'opencode-messages'])(
    'a client that marks, %s, pays at most 1.02 of what it pays at the provider',
    async (file) => {
      const session = recorded(file);
      const stage = await startStage(MESSAGES);
      await play(stage, session);
      const direct = await playDirect(directBodies(session), MESSAGES);
      const ratio = billedInput(logOf(stage), ANTHROPIC) / billedInput(direct, ANTHROPIC);
      expect(ratio).toBeLessThanOrEqual(1.02);
      expect(logOf(stage)).toHaveLength(session.requests.length);
    },
  );

  test.each([
    ['codex', 0.14],
    ['cline', 0.25],
    ['opencode-chat', 0.25],
  ])(
    'a client that does not mark on Claude, %s, pays at most %f of what it would pay unmarked',
    async (file, most) => {
      const stage = await startStage(MESSAGES);
      await play(stage, recorded(file));
      const ratio = billedInput(logOf(stage), ANTHROPIC) / unmarkedInput(logOf(stage));
      expect(ratio).toBeLessThanOrEqual(most);
    },
  );

  test.each([
    [16, 0.25],
    [64, 0.14],
  ])(
    'a loop of %i steps around the SDK pays at most %f of what it would pay unmarked',
    async (steps, most) => {
      const stage = await startStage({ ...MESSAGES, answer: loopAnswer(steps) });
      expect(await runLoop(stage, MODEL)).toBe(steps);
      const ratio = billedInput(logOf(stage), ANTHROPIC) / unmarkedInput(logOf(stage));
      expect(ratio).toBeLessThanOrEqual(most);
    },
  );

  test('Claude Code on a GPT target pays at most 1.02 of the same requests with a key', async () => {
    const stage = await startStage(CHAT);
    await play(stage, recorded('claude-code'));
    const bodies = logOf(stage).map(({ body }) =>
      JSON.stringify({ ...JSON.parse(body), prompt_cache_key: 'session' }),
    );
    const direct = await playDirect(bodies, CHAT);
    const ratio = billedInput(logOf(stage), OPENAI) / billedInput(direct, OPENAI);
    expect(ratio).toBeLessThanOrEqual(1.02);
    const keys = logOf(stage).map(({ body }) => JSON.parse(body).prompt_cache_key);
    expect(new Set(keys).size).toBe(1);
    expect(keys[0]).toMatch(/^\S{16,64}$/);
  });

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

  test.each(['/v1/chat/completions', '/v1/messages', '/v1/responses'])(
    'single turns without tools pay for no write on %s',
    async (path) => {
      const stage = await startStage(MESSAGES);
      const text = (at: number) => `question ${at} `.padEnd(40_000, 'lorem ipsum ');
      const bodyOf = (at: number) => {
        const turns = [{ role: 'user', content: text(at) }];
        return {
          model: MODEL,
          ...(path.endsWith('responses') ? { input: turns } : { messages: turns, max_tokens: 100 }),
        };
      };
      const requests = Array.from({ length: 4 }, (_, at) => ({ headers: {}, body: bodyOf(at) }));
      await play(stage, { path, requests });
      const ratio = billedInput(logOf(stage), ANTHROPIC) / unmarkedInput(logOf(stage));
      expect(ratio).toBe(1);
    },
  );
});
