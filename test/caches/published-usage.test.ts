import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createCountingClock } from '../support/counting-clock.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import {
  type GenerationUpstream,
  startGenerationUpstream,
} from '../support/generation-upstream.ts';
import { CANARIES } from '../support/leak-watch.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { send } from '../support/send.ts';

const chunk = (choices: object[], others: object = {}): string => {
  const members = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' };
  return `data: ${JSON.stringify({ ...members, choices, ...others })}\n\n`;
};
const HI = chunk([{ index: 0, delta: { role: 'assistant', content: 'Hi' } }]);
const STOP = { index: 0, delta: {}, finish_reason: 'stop' };
/** The counts in the chunk that ends the choice, in the choice, or in a chunk of their own. */
const inLast = (others: object) => HI + chunk([STOP], others);
const inChoice = (usage: object) => HI + chunk([{ ...STOP, usage }]);
const alone = (usage: object) => HI + chunk([STOP]) + chunk([], { usage });

const COUNTS = { prompt_tokens: 1_000, completion_tokens: 50, total_tokens: 1_050 };
const CACHED = { prompt_tokens_details: { cached_tokens: 800 } };
const REASONED = { completion_tokens_details: { reasoning_tokens: 30 } };

/** What a provider sends, and input (without what a cache gave or took), read, written, output and reasoning. */
type Row = [events: string, counts: (number | null)[]];

/** The counts of a request of 1,000 tokens in the forms in which providers publish them. */
const ROWS: Record<string, Row> = {
  OpenAI: [alone({ ...COUNTS, ...CACHED, ...REASONED }), [200, 800, null, 50, 30]],
  DeepSeek: [
    inLast({
      usage: {
        ...COUNTS,
        prompt_cache_hit_tokens: 800,
        prompt_cache_miss_tokens: 200,
        ...REASONED,
      },
    }),
    [200, 800, null, 50, 30],
  ],
  'Moonshot, in the choice': [
    inChoice({ ...COUNTS, cached_tokens: 800 }),
    [200, 800, null, 50, null],
  ],
  Groq: [
    inLast({ x_groq: { id: 'r', usage: { ...COUNTS, queue_time: 0.1, ...CACHED } } }),
    [200, 800, null, 50, null],
  ],
  'xAI, whose completion has no reasoning': [
    alone({ ...COUNTS, completion_tokens: 20, ...CACHED, ...REASONED }),
    [200, 800, null, 50, 30],
  ],
  'Google, who states no reasoning': [
    inLast({ usage: { ...COUNTS, completion_tokens: 20 } }),
    [1_000, null, null, 50, null],
  ],
  OpenRouter: [
    alone({
      ...COUNTS,
      cost: 0.0123,
      prompt_tokens_details: { cached_tokens: 800, cache_write_tokens: 100 },
    }),
    [100, 800, 100, 50, null],
  ],
  'Qwen, of a cache that a mark made': [
    alone({
      ...COUNTS,
      prompt_tokens_details: {
        ...{ cached_tokens: 0, cache_creation_input_tokens: 900, cache_type: 'ephemeral' },
        cache_creation: { ephemeral_5m_input_tokens: 900 },
      },
    }),
    [100, 0, 900, 50, null],
  ],
  'a gateway before Anthropic': [
    alone({ ...COUNTS, cache_read_input_tokens: 800, cache_creation_input_tokens: 100, ...CACHED }),
    [100, 800, 100, 50, null],
  ],
  'vLLM, with each chunk': [
    chunk([{ index: 0, delta: { role: 'assistant', content: 'Hi' } }], {
      usage: { prompt_tokens: 1_000, completion_tokens: 1, total_tokens: 1_001 },
    }) +
      chunk([STOP], { usage: COUNTS }) +
      chunk([], { usage: COUNTS }),
    [1_000, null, null, 50, null],
  ],
  'a server without a total': [
    inLast({ usage: { prompt_tokens: 1_000, completion_tokens: 50 } }),
    [1_000, null, null, 50, null],
  ],
};
const NAMES = Object.keys(ROWS);

let upstream: GenerationUpstream;
let fleet: Fleet;
beforeAll(async () => {
  upstream = await startGenerationUpstream(
    () => undefined,
    ({ body }) => ({
      type: 'text/event-stream',
      text: `${ROWS[String(body.model)]?.[0]}data: [DONE]\n\n`,
    }),
  );
  const models = NAMES.map((name, index) =>
    modelOn([targetAt(upstream.url, { model: name })], { id: `vendor/${index}` }),
  );
  const clock = createCountingClock(Date.UTC(2026, 10, 24, 12));
  fleet = await startFleet({ models, clock, secret: CANARIES.upstreamKey });
});
afterAll(async () => {
  await fleet.close();
  await upstream.close();
});

describe('the counts of a response', () => {
  test.each(NAMES)('in the form of %s mean the same to a caller of messages', async (name) => {
    const { text } = await send(fleet.urls[0] ?? '', '/v1/messages', {
      method: 'POST',
      headers: { authorization: `Bearer ${fleet.key}` },
      body: JSON.stringify({
        ...{ model: `vendor/${NAMES.indexOf(name)}`, max_tokens: 100 },
        messages: [{ role: 'user', content: 'hi' }],
      }),
    });
    const { usage } = JSON.parse(text);
    expect([
      usage.input_tokens,
      usage.cache_read_input_tokens,
      usage.cache_creation_input_tokens,
      usage.output_tokens,
      usage.output_tokens_details?.thinking_tokens ?? null,
    ]).toEqual(ROWS[name]?.[1]);
  });
});
