import { afterAll, beforeAll, expect, test } from 'vitest';
import { createCountingClock } from '../support/counting-clock.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import {
  type GenerationUpstream,
  startGenerationUpstream,
} from '../support/generation-upstream.ts';
import { CANARIES } from '../support/leak-watch.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { conversationOf, PATHS } from '../support/request-forms.ts';
import { send } from '../support/send.ts';

const EFFORTS = { effort: ['none', 'low', 'medium', 'high'] };
const UNVERIFIED = {
  error: {
    message:
      'Your organization must be verified to generate reasoning summaries. Please go to: https://platform.openai.com/settings/organization/general and click on Verify Organization.',
    ...{ type: 'invalid_request_error', param: 'reasoning.summary', code: 'unsupported_value' },
  },
};

let upstream: GenerationUpstream;
let fleet: Fleet;
beforeAll(async () => {
  upstream = await startGenerationUpstream(({ body }) => {
    const isUnverified = body.model === 'unverified' && JSON.stringify(body).includes('"summary"');
    return isUnverified ? { error: { ...UNVERIFIED.error, code: 400 } } : undefined;
  });
  const on = (model: string, profile: object) =>
    modelOn([targetAt(upstream.url, { protocol: 'responses', model, upstream: model, profile })], {
      id: `v/${model}`,
    });
  const models = [on('levels', EFFORTS), on('unknown', {}), on('unverified', EFFORTS)];
  models.push(on('plain', { effort: [] }));
  const clock = createCountingClock(Date.UTC(2026, 10, 21, 12));
  fleet = await startFleet({ models, clock, secret: CANARIES.upstreamKey });
});
afterAll(async () => {
  await fleet.close();
  await upstream.close();
});

const ask = async (caller: keyof typeof PATHS, model: string, fields: object) => {
  const sent = await send(fleet.urls[0] ?? '', PATHS[caller], {
    method: 'POST',
    headers: { 'x-api-key': fleet.key },
    body: JSON.stringify({
      model: `v/${model}`,
      ...conversationOf(caller, [{ role: 'user', content: 'say hello' }], 4_000),
      ...fields,
    }),
  });
  return { ...sent, reasoning: upstream.take().map(({ body }) => body.reasoning) };
};

const budget = { type: 'enabled', budget_tokens: 2_048 };
const adaptive = { type: 'adaptive' };

test.each([
  ['messages', 'levels', { thinking: budget }, { effort: 'low', summary: 'auto' }],
  ['messages', 'unknown', { thinking: budget }, { effort: 'low', summary: 'auto' }],
  ['messages', 'levels', { thinking: adaptive }, { summary: 'auto' }],
  ['messages', 'levels', { thinking: { ...adaptive, display: 'omitted' } }, undefined],
  ['messages', 'unknown', { thinking: adaptive }, undefined],
  ['messages', 'levels', { thinking: { type: 'disabled' } }, { effort: 'none' }],
  ['messages', 'levels', {}, undefined],
  ['messages', 'plain', { thinking: budget }, undefined],
  ['chat', 'levels', { reasoning_effort: 'high' }, { effort: 'high', summary: 'auto' }],
  ['chat', 'levels', { reasoning_effort: 'none' }, { effort: 'none' }],
  ['chat', 'levels', {}, undefined],
] as const)(
  'thinking that a caller of %s asks for is asked for at a responses target (%s, %j)',
  async (caller, model, fields, expected) => {
    const { status, reasoning } = await ask(caller, model, fields);
    expect({ status, reasoning }).toEqual({ status: 200, reasoning: [expected] });
  },
);

test('an account that may not see reasoning is asked without a summary, from the second request on at once', async () => {
  const first = await ask('messages', 'unverified', { thinking: budget });
  expect([first.status, first.reasoning]).toEqual([
    200,
    [{ effort: 'low', summary: 'auto' }, { effort: 'low' }],
  ]);
  const later = await ask('chat', 'unverified', { reasoning_effort: 'high' });
  expect([later.status, later.reasoning]).toEqual([200, [{ effort: 'high' }]]);
  const own = await ask('responses', 'unverified', {
    ...{ store: false, reasoning: { effort: 'high', summary: 'detailed' } },
  });
  expect([own.status, own.reasoning]).toEqual([200, [{ effort: 'high' }]]);
  expect(own.headers['x-router-dropped']).toBe('reasoning.summary');
});
