import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createCountingClock } from '../support/counting-clock.ts';
import type { Family } from '../support/families.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { startInstantUpstream } from '../support/instant-upstream.ts';
import { CANARIES } from '../support/leak-watch.ts';
import { modelOn, targetAt } from '../support/models.ts';

/** Models by the faults of their targets; each speaks chat first and messages second, or only one. */
const MODELS = {
  'test/chat-alone': [{ protocol: 'chat', fault: 'blank' }],
  'test/messages-alone': [{ protocol: 'messages', fault: 'blank' }],
  'test/empty-twice': [
    { protocol: 'chat', fault: 'blank' },
    { protocol: 'messages', fault: 'blank' },
  ],
  'test/empty-then-failing': [
    { protocol: 'messages', fault: 'blank' },
    { protocol: 'chat', fault: 'status=500' },
  ],
  'test/failing-then-empty': [
    { protocol: 'messages', fault: 'status=500' },
    { protocol: 'chat', fault: 'blank' },
  ],
  'test/empty-three-times': [
    { protocol: 'chat', fault: 'blank' },
    { protocol: 'messages', fault: 'blank' },
    { protocol: 'chat', fault: 'blank', model: 'third' },
  ],
} satisfies Record<string, { protocol: Family; fault: string; model?: string }[]>;

const clock = createCountingClock(Date.UTC(2026, 10, 21, 12));
let upstream: Awaited<ReturnType<typeof startInstantUpstream>>;
let fleet: Fleet;

beforeAll(async () => {
  upstream = await startInstantUpstream(CANARIES.upstreamKey, clock);
  const models = Object.entries(MODELS).map(([id, targets]) =>
    modelOn(
      targets.map(
        ({ protocol, fault, model = '' }: { protocol: Family; fault: string; model?: string }) =>
          targetAt(upstream.baseUrl(protocol), { protocol, model: `${id} ${model}!${fault}` }),
      ),
      { id },
    ),
  );
  fleet = await startFleet({ models, clock, secret: CANARIES.upstreamKey });
});
afterAll(async () => {
  await fleet.close();
  await upstream.close();
});
beforeEach(() => upstream.control.reset());

const openAi = () => new OpenAI({ baseURL: `${fleet.urls[0]}/v1`, apiKey: fleet.key });
const anthropic = () => new Anthropic({ baseURL: fleet.urls[0] ?? '', apiKey: fleet.key });
const messages = [{ role: 'user' as const, content: 'hi' }];

const CALLERS = [
  {
    name: 'openai, whole',
    ask: async (model: string) => {
      const { choices } = await openAi().chat.completions.create({ model, messages });
      return [choices[0]?.message.content, choices[0]?.finish_reason];
    },
    empty: ['', 'stop'],
  },
  {
    name: 'openai, streamed',
    ask: async (model: string) => {
      const stream = await openAi().chat.completions.create({ model, messages, stream: true });
      const choices: OpenAI.ChatCompletionChunk.Choice[] = [];
      for await (const chunk of stream) choices.push(...chunk.choices);
      return [
        choices.map(({ delta }) => delta.content ?? '').join(''),
        choices.at(-1)?.finish_reason,
      ];
    },
    empty: ['', 'stop'],
  },
  {
    name: 'anthropic, whole',
    ask: async (model: string) => {
      const { content, stop_reason } = await anthropic().messages.create({
        ...{ model, messages, max_tokens: 9 },
      });
      return [content, stop_reason];
    },
    empty: [[], 'end_turn'],
  },
  {
    name: 'anthropic, streamed',
    ask: async (model: string) => {
      const { content, stop_reason } = await anthropic()
        .messages.stream({ model, messages, max_tokens: 9 })
        .finalMessage();
      return [content, stop_reason];
    },
    empty: [[], 'end_turn'],
  },
];

describe.each(CALLERS)('$name', ({ ask, empty }) => {
  test.each([
    ['test/chat-alone', 1],
    ['test/messages-alone', 1],
    ['test/empty-twice', 2],
    ['test/empty-then-failing', 2],
    ['test/failing-then-empty', 2],
    ['test/empty-three-times', 2],
  ])(
    'an SDK gets the empty response of the model "%s" free, after %i upstream calls',
    async (model, calls) => {
      const charged = await fleet.charged();
      expect(await ask(model)).toEqual(empty);
      expect(await fleet.charged()).toBe(charged);
      expect(upstream.control.calls).toHaveLength(calls);
    },
  );
});

test('an empty response shows the refunded unit in its headers', async () => {
  const used = await fleet.charged();
  const { response } = await openAi()
    .chat.completions.create({ model: 'test/chat-alone', messages })
    .withResponse();
  const remaining = [...response.headers].find(([name]) => /quota.*remaining/i.test(name));
  expect(Number(remaining?.[1])).toBe(1_000_000 - used);
});

test('twenty empty responses in a row open no breaker', async () => {
  for (let turn = 0; turn < 20; turn += 1) {
    await openAi().chat.completions.create({ model: 'test/chat-alone', messages });
  }
  const events = fleet.lines().map(({ event }) => event);
  expect(events).not.toContain('breaker_opened');
  expect(upstream.control.calls).toHaveLength(20);
});
