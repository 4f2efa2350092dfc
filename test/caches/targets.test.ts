import { describe, expect, test } from 'vitest';
import { ANTHROPIC, billedInput, tokensOf } from '../support/caching-provider/bill.ts';
import type { Said } from '../support/caching-provider/server.ts';
import {
  directBodies,
  play,
  playDirect,
  recorded,
  type Session,
  STEP_MS,
  type Stage,
  sendStep,
  startStage,
  withoutThinking,
} from '../support/sessions/play.ts';

const MESSAGES = { wire: 'messages' } as const;
/** Two accounts of one provider, equal for the operator; the recorded thinking is that of neither. */
const EQUAL = [
  { upstream: 'first', tier: 0 },
  { upstream: 'second', tier: 0 },
];
const ROUTERS = 8;

const askedOf = ({ providers }: Stage) => providers.map(({ log }) => log.length);

/** The same steps in the session of another window of the same client. */
const inSession = ({ path, requests }: Session, id: string): Session => ({
  path,
  requests: requests.map(({ headers, body }) => ({
    headers: { ...headers, 'x-claude-code-session-id': id },
    body,
  })),
});

const claudeCode = recorded('claude-code');
const steps = claudeCode.requests.length;

const THOUGHT: Said = {
  thinking: { text: 'Next.', signature: 'c2lnbmF0dXJl' },
  text: 'Done.',
  calls: [],
  finish: 'stop',
};

const TAG = /mrs1\.[0-9a-f]{12}\./;
/** The recorder numbers its signatures by the step. */
const SIGNATURE = /mrs1\.[0-9a-f]{12}\.c2lnbmF0dXJl(\d+)/g;

/** Sends the session with its thinking tagged as the responses of the same steps were, as the client would. */
const playTagged = async (stage: Stage, beforeStep: (index: number) => void): Promise<void> => {
  const tags: string[] = [];
  for (const [index, { headers, body }] of claudeCode.requests.entries()) {
    beforeStep(index);
    const text = JSON.stringify(body).replaceAll(
      SIGNATURE,
      (_, step) => `${tags[Number(step) - 1]}c2lnbmF0dXJl${step}`,
    );
    const request = { headers, body: JSON.parse(text) };
    const sent = await sendStep(stage, { path: claudeCode.path, request, router: index });
    expect(sent.status, sent.text).toBe(200);
    tags.push(TAG.exec(sent.text)?.[0] ?? '');
    stage.clock.advance(STEP_MS);
  }
};

describe('two equal targets behind eight routers', () => {
  test('a session of two equal targets stays on one of them, and costs at most 1.02 of what it costs at the provider', async () => {
    const session = withoutThinking(claudeCode);
    const stage = await startStage({ ...MESSAGES, targets: EQUAL, routers: ROUTERS });
    await play(stage, session);
    expect(askedOf(stage).toSorted((one, other) => one - other)).toEqual([0, steps]);
    const direct = await playDirect(directBodies(session), MESSAGES);
    const billed = stage.providers.flatMap(({ log }) => log);
    expect(billedInput(billed, ANTHROPIC) / billedInput(direct, ANTHROPIC)).toBeLessThanOrEqual(
      1.02,
    );
  });

  test('sessions share two equal targets', async () => {
    const stage = await startStage({ ...MESSAGES, targets: EQUAL, routers: ROUTERS });
    const short = { ...claudeCode, requests: claudeCode.requests.slice(0, 2) };
    for (let at = 0; at < 12; at += 1) {
      const before = askedOf(stage);
      await play(stage, inSession(short, `session-${at}`));
      expect(
        askedOf(stage)
          .map((count, one) => count - (before[one] ?? 0))
          .toSorted(),
      ).toEqual([0, 2]);
    }
    for (const count of askedOf(stage)) expect(count).toBeGreaterThanOrEqual(4);
  });

  test.each([
    ['for the rest of it', steps],
    ['for three steps', 3],
  ])(
    'a session whose target fails in the middle, %s, pays at most one cold start of the prefix, and stays where it went',
    async (_, failing) => {
      const stage = await startStage({
        ...MESSAGES,
        targets: EQUAL,
        routers: ROUTERS,
        answer: () => THOUGHT,
      });
      const from = Math.floor(steps / 2);
      await playTagged(stage, (index) => {
        const [served] = stage.providers.filter(({ log }) => log.length === from);
        if (index === from && served) served.state.status = 529;
        if (index === from + failing)
          for (const { state } of stage.providers) state.status = undefined;
      });
      const billed = stage.providers.flatMap(({ log }) => log);
      const direct = await playDirect(directBodies(claudeCode), MESSAGES);
      const [atFailure] = direct.slice(from);
      const coldStart = atFailure ? tokensOf(atFailure) * ANTHROPIC.written5m : 0;
      const extra = billedInput(billed, ANTHROPIC) - billedInput(direct, ANTHROPIC);
      expect(extra).toBeGreaterThan(0);
      expect(extra).toBeLessThanOrEqual(coldStart);
      expect(askedOf(stage)).toEqual([from, steps - from]);
    },
  );
});
