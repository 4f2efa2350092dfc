import { afterAll, beforeAll, expect, test } from 'vitest';
import { createCountingClock } from '../../support/counting-clock.ts';
import { type Fleet, startFleet } from '../../support/fleet.ts';
import {
  type Answered,
  type GenerationUpstream,
  startGenerationUpstream,
} from '../../support/generation-upstream.ts';
import { CANARIES } from '../../support/leak-watch.ts';
import { modelOn, targetAt } from '../../support/models.ts';
import { send } from '../../support/send.ts';
import { readSse } from '../../support/sse-text.ts';
import { messagesWire } from '../../support/translate.ts';

/** What the vendor states in `message_start`, of the message's cache and its input. */
const START = {
  diagnostics: { cache_miss_reason: { type: 'system_changed', cache_missed_input_tokens: 3 } },
  input_transformations: [{ type: 'thinking_dropped', message_index: 1 }],
};
const HEAD = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', ...START };
const usage = { input_tokens: 3, output_tokens: 1 };
const hello = { type: 'text', text: 'Hello' };
const end = { stop_reason: 'end_turn', stop_sequence: null };

const ANSWERS: Record<'stream' | 'whole', Answered> = {
  stream: {
    type: 'text/event-stream',
    text: messagesWire([
      { type: 'message_start', message: { ...HEAD, content: [], usage } },
      { type: 'content_block_start', index: 0, content_block: hello },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: end, usage },
      { type: 'message_stop' },
    ]),
  },
  whole: {
    type: 'application/json',
    text: JSON.stringify({ ...HEAD, ...end, content: [hello], usage }),
  },
};

let answer: Answered;
let fleet: Fleet;
let upstream: GenerationUpstream;

beforeAll(async () => {
  upstream = await startGenerationUpstream(undefined, () => answer);
  const models = [modelOn([targetAt(upstream.url, { protocol: 'messages' })])];
  const clock = createCountingClock(Date.UTC(2026, 10, 22, 12));
  fleet = await startFleet({ models, clock, secret: CANARIES.upstreamKey });
});
afterAll(async () => {
  await fleet.close();
  await upstream.close();
});

const ask = async (stream: boolean): Promise<string> => {
  const { text } = await send(fleet.urls[0] ?? '', '/v1/messages', {
    method: 'POST',
    headers: { authorization: `Bearer ${fleet.key}` },
    body: JSON.stringify({
      model: 'vendor/model',
      max_tokens: 9,
      messages: [{ role: 'user', content: 'hi' }],
      stream,
    }),
  });
  return text;
};

test.each(['stream', 'whole'] as const)(
  'a messages stream has diagnostics and changes of the input in message_start alone, from an upstream’s %s',
  async (form) => {
    answer = ANSWERS[form];
    const events = readSse(await ask(true)).map(({ data }) => JSON.parse(data));
    expect(events[0]).toMatchObject({ type: 'message_start', message: START });
    const ending = events.find(({ type }) => type === 'message_delta');
    expect(ending.delta).not.toHaveProperty('diagnostics');
    expect(ending).not.toHaveProperty('input_transformations');
  },
);

test.each(['stream', 'whole'] as const)(
  'a whole messages response has diagnostics and changes of the input, from an upstream’s %s',
  async (form) => {
    answer = ANSWERS[form];
    expect(JSON.parse(await ask(false))).toMatchObject(START);
  },
);
