import { afterAll, beforeAll, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../lambdas/support/clock.ts';
import { createCountingClock } from '../support/counting-clock.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import {
  type GenerationUpstream,
  startGenerationUpstream,
} from '../support/generation-upstream.ts';
import { CANARIES } from '../support/leak-watch.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { send } from '../support/send.ts';

/** Chat servers that read earlier thinking by the name under which they state it: vLLM and Ollama, and the others. */
const THOUGHT = 'I look it up.';
const NAMES = { vllm: 'reasoning', deepseek: 'reasoning_content' };

const CALL = {
  ...{ index: 0, id: 'call_1', type: 'function' },
  function: { name: 'look', arguments: '{}' },
};
const chunk = (choice: object) =>
  `data: ${JSON.stringify({
    ...{ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm' },
    choices: [{ index: 0, finish_reason: null, ...choice }],
  })}\n\n`;

const clock = createCountingClock(Date.UTC(2026, 10, 24, 12));
let upstream: GenerationUpstream;
let fleet: Fleet;
beforeAll(async () => {
  upstream = await startGenerationUpstream(undefined, ({ body }) => ({
    type: 'text/event-stream',
    text: [
      chunk({ delta: { role: 'assistant', [NAMES[body.model as 'vllm']]: THOUGHT } }),
      chunk({ delta: { tool_calls: [CALL] } }),
      chunk({ delta: {}, finish_reason: 'tool_calls' }),
      'data: [DONE]\n\n',
    ].join(''),
  }));
  const models = Object.keys(NAMES).map((model) =>
    modelOn([targetAt(upstream.url, { protocol: 'chat', model, upstream: model })], {
      id: `v/${model}`,
    }),
  );
  fleet = await startFleet({ models, clock, size: 2, secret: CANARIES.upstreamKey });
});
afterAll(async () => {
  await fleet.close();
  await upstream.close();
});

type Json = Record<string, unknown>;

const parameters = { type: 'object', properties: {} };
/** By caller: its path and tools, and what it sends after an answer: that answer as it is, and the result of the call. */
const CALLERS = {
  chat: {
    path: '/v1/chat/completions',
    tools: [{ type: 'function', function: { name: 'look', parameters } }],
    first: { messages: [{ role: 'user', content: 'Look.' }] },
    next: ({ choices }: Json) => ({
      messages: [
        { role: 'user', content: 'Look.' },
        (choices as Json[])[0]?.message,
        { role: 'tool', tool_call_id: 'call_1', content: 'A calendar.' },
      ],
    }),
  },
  messages: {
    path: '/v1/messages',
    tools: [{ name: 'look', input_schema: parameters }],
    first: { max_tokens: 4_000, messages: [{ role: 'user', content: 'Look.' }] },
    next: ({ content }: Json) => ({
      max_tokens: 4_000,
      messages: [
        { role: 'user', content: 'Look.' },
        { role: 'assistant', content },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 'call_1', content: 'A calendar.' }],
        },
      ],
    }),
  },
  responses: {
    path: '/v1/responses',
    tools: [{ type: 'function', name: 'look', parameters }],
    first: { input: [{ role: 'user', content: 'Look.' }] },
    next: ({ output }: Json) => ({
      input: [
        { role: 'user', content: 'Look.' },
        ...(output as Json[]),
        { type: 'function_call_output', call_id: 'call_1', output: 'A calendar.' },
      ],
    }),
  },
};
type Caller = keyof typeof CALLERS;

const ask = async (caller: Caller, model: string, fields: object, at = 0) => {
  const { path, tools } = CALLERS[caller];
  upstream.take();
  const { text } = await send(fleet.urls[at] ?? '', path, {
    method: 'POST',
    headers: { 'x-api-key': fleet.key },
    body: JSON.stringify({ model: `v/${model}`, tools, ...fields }),
  });
  const messages = upstream.take().at(-1)?.body.messages as Json[];
  return { answer: JSON.parse(text) as Json, earlier: messages.find((one) => one.tool_calls) };
};

const thinkingIn = (message: Json | undefined) =>
  Object.fromEntries(Object.values(NAMES).map((name) => [name, message?.[name]]));

/** What a step of an agent's session sends of the step before it, at another process of the router. */
const secondStep = async (caller: Caller, model: string) => {
  const { first, next } = CALLERS[caller];
  const { answer } = await ask(caller, model, first);
  clock.advance(2 * MINUTE_MS);
  const { earlier } = await ask(caller, model, next(answer), 1);
  return thinkingIn(earlier);
};

test.each(Object.keys(CALLERS) as Caller[])(
  'earlier thinking of a caller of %s reaches a chat server by the name under which the server states it',
  async (caller) => {
    expect(await secondStep(caller, 'vllm')).toEqual({ reasoning: THOUGHT });
    expect(await secondStep(caller, 'deepseek')).toEqual({ reasoning_content: THOUGHT });
  },
);

test('the name of thinking holds for days, without a step that sends it under the other one', async () => {
  for (let passed = 0; passed < 2 * DAY_MS; passed += 7 * HOUR_MS) {
    clock.advance(7 * HOUR_MS);
    expect(await secondStep('chat', 'vllm')).toEqual({ reasoning: THOUGHT });
  }
});
