import { describe, expect, test } from 'vitest';
import {
  ANTHROPIC,
  type Billed,
  billedInput,
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

const logOf = ({ providers }: Stage): Billed[] => providers.flatMap(({ log }) => log);

const MESSAGES = { wire: 'messages' } as const;

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
