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

let upstream: GenerationUpstream;
let fleet: Fleet;
beforeAll(async () => {
  upstream = await startGenerationUpstream(({ body, url }) => {
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
  fleet = await startFleet({ models, clock, secret: CANARIES.upstreamKey, size: 2 });
});
afterAll(async () => {
  await fleet.close();
  await upstream.close();
});

const callsOf = async (router: number, protocol: 'chat' | 'messages', fields: object) => {
  const path = { chat: '/v1/chat/completions', messages: '/v1/messages' }[protocol];
  const { status } = await send(fleet.urls[router] ?? '', path, {
    method: 'POST',
    headers: { authorization: `Bearer ${fleet.key}` },
    body: JSON.stringify({
      model: `vendor/${protocol}`,
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
