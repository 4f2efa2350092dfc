import { afterAll, beforeAll, expect, test } from 'vitest';
import { MINUTE_MS } from '../../lambdas/support/clock.ts';
import { createCountingClock } from '../support/counting-clock.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import {
  type GenerationUpstream,
  startGenerationUpstream,
} from '../support/generation-upstream.ts';
import { CANARIES } from '../support/leak-watch.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { send } from '../support/send.ts';

const clock = createCountingClock(Date.UTC(2026, 10, 24, 12));
const REFUSED = ['temperature', 'stop', 'stop_sequences', 'top_p'];

const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }];
/** What a provider refused for a time: the fields of a request, whether it has them as the caller sent them, its words. */
const MENDED: Record<
  string,
  { fields: Fields; isWhole: (body: Fields) => boolean; words: string }
> = {
  'a temperature': {
    fields: { temperature: 0.2 },
    isWhole: ({ temperature }) => temperature === 0.2,
    words: "Unsupported parameter: 'temperature' is not supported with this model.",
  },
  'an effort': {
    fields: { reasoning_effort: 'high' },
    isWhole: ({ reasoning_effort: effort }) => effort === 'high',
    words: "Unsupported parameter: 'reasoning_effort' is not supported with this model.",
  },
  'a level of effort': {
    fields: { reasoning_effort: 'high' },
    isWhole: ({ reasoning_effort: effort }) => effort === 'high',
    words: 'reasoning_effort: supported values are: low, medium.',
  },
  'an effort next to tools': {
    fields: { reasoning_effort: 'high', tools },
    isWhole: ({ reasoning_effort: effort }) => effort === 'high',
    words: 'Function tools with reasoning_effort are not supported for m in chat completions.',
  },
  'a forced tool': {
    fields: { tools, tool_choice: 'required' },
    isWhole: ({ tool_choice: choice }) => choice === 'required',
    words: "tool_choice: Input should be 'auto' or 'none'",
  },
  'stop sequences': {
    fields: { stop: ['a'] },
    isWhole: ({ stop }) => stop !== undefined,
    words: 'Model m does not support parameter stop.',
  },
  'the switch of parallel calls': {
    fields: { tools, parallel_tool_calls: false },
    isWhole: ({ parallel_tool_calls: isParallel }) => isParallel === false,
    words: "Unsupported parameter: 'parallel_tool_calls' is not supported with this model.",
  },
};
type Fields = Record<string, unknown>;
const KINDS = Object.keys(MENDED);
let isMended = false;

let upstream: GenerationUpstream;
let fleet: Fleet;
beforeAll(async () => {
  upstream = await startGenerationUpstream(({ body, url }) => {
    const kind = MENDED[KINDS[Number(body.model)] ?? ''];
    if (kind) return !isMended && kind.isWhole(body) ? kind.words : undefined;
    // The messages protocol of the same model accepts a temperature.
    const found = REFUSED.find(
      (name) => body[name] !== undefined && !(url.includes('/messages') && name === 'temperature'),
    );
    return found && `Unsupported parameter: '${found}' is not supported with this model.`;
  });
  const models = (['chat', 'messages'] as const).map((protocol) =>
    modelOn([targetAt(upstream.url, { protocol, upstream: 'one', model: 'm' })], {
      id: `vendor/${protocol}`,
    }),
  );
  models.push(
    ...KINDS.map((_, index) =>
      modelOn([targetAt(upstream.url, { model: String(index), upstream: 'one' })], {
        id: `vendor/${index}`,
      }),
    ),
  );
  fleet = await startFleet({ models, clock, secret: CANARIES.upstreamKey, size: 2 });
});
afterAll(async () => {
  await fleet.close();
  await upstream.close();
});

const callsOf = async (router: number, model: string, fields: object) => {
  const path = model === 'messages' ? '/v1/messages' : '/v1/chat/completions';
  const { status } = await send(fleet.urls[router] ?? '', path, {
    method: 'POST',
    headers: { authorization: `Bearer ${fleet.key}` },
    body: JSON.stringify({
      model: `vendor/${model}`,
      max_tokens: 50,
      messages: [{ role: 'user', content: 'hi' }],
      ...fields,
    }),
  });
  expect(status).toBe(200);
  return upstream.take();
};

test('what two environments learn at once of one target is known to both, and to no target of another protocol', async () => {
  // Both have read the lessons, and read them again after a minute.
  await callsOf(0, 'chat', {});
  await callsOf(1, 'chat', {});
  expect(await callsOf(0, 'chat', { temperature: 0.2 })).toHaveLength(2);
  expect(await callsOf(1, 'chat', { stop: ['a'] })).toHaveLength(2);
  clock.advance(2 * MINUTE_MS);
  for (const router of [0, 1]) {
    expect(await callsOf(router, 'chat', { temperature: 0.2, stop: ['a'] })).toHaveLength(1);
  }
  const [first, ...more] = await callsOf(0, 'messages', { temperature: 0.2 });
  expect([first?.body.temperature, more]).toEqual([0.2, []]);
});

test.each(KINDS)(
  'a provider that takes %s again is noticed within an hour by one call, and by all environments within a minute',
  async (kind) => {
    const { fields, isWhole } = MENDED[kind] ?? { fields: {}, isWhole: () => false };
    const ask = async (router: number) =>
      (await callsOf(router, String(KINDS.indexOf(kind)), fields)).map(({ body }) => isWhole(body));
    isMended = false;
    expect(await ask(0)).toEqual([true, false]);
    clock.advance(59 * MINUTE_MS);
    expect(await ask(0)).toEqual([false]);
    clock.advance(2 * MINUTE_MS);
    // Still refused: one call more, once an hour.
    expect(await ask(0)).toEqual([true, false]);
    expect(await ask(0)).toEqual([false]);
    isMended = true;
    clock.advance(61 * MINUTE_MS);
    expect(await ask(0)).toEqual([true]);
    clock.advance(2 * MINUTE_MS);
    for (const router of [0, 1]) expect(await ask(router)).toEqual([true]);
  },
);

test('an hourly try spends no call on requests without the member, and a request that never has it is answered as before', async () => {
  isMended = false;
  const model = String(KINDS.indexOf('stop sequences'));
  await callsOf(0, model, { stop: ['b'] });
  clock.advance(61 * MINUTE_MS);
  expect(await callsOf(0, model, {})).toHaveLength(1);
  clock.advance(2 * MINUTE_MS);
  expect(await callsOf(0, model, { stop: ['b'] })).toHaveLength(2);
});
