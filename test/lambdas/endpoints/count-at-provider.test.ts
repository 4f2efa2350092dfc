import { createServer, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import Anthropic from '@anthropic-ai/sdk';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listen } from '../../../local/loopback.ts';
import { type Fleet, startFleet } from '../../support/fleet.ts';
import { CANARIES } from '../../support/leak-watch.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { modelOn, targetAt } from '../../support/models.ts';
import { send } from '../../support/send.ts';

const COUNT = 4_321;

/** What the vendor's counter accepts, by its reference; it rejects any other field. */
const FIELDS = ['model', 'messages', 'system', 'tools', 'tool_choice', 'thinking'];

type Act = (response: ServerResponse) => void;
const answer =
  (status: number, text: string): Act =>
  (response) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(text);
const COUNTED = answer(200, JSON.stringify({ input_tokens: COUNT }));
let act: Act = COUNTED;
const calls: { url: string; body: Record<string, unknown> }[] = [];

const clock = createManualClock(Date.UTC(2026, 10, 22, 12));
const DEADLINE_MS = 800;
/** A breaker is open for 10 s after a 429, and some more by chance. */
const COOLDOWN_MS = 15_000;

let counter: Awaited<ReturnType<typeof listen>>;
let asking: Fleet;
let estimating: Fleet;
beforeAll(async () => {
  counter = await listen(
    createServer(async (request, response) => {
      const body = (await json(request)) as Record<string, unknown>;
      calls.push({ url: request.url ?? '', body });
      const isValid =
        request.headers['x-api-key'] === CANARIES.upstreamKey &&
        /^20\d\d-\d\d-\d\d$/.test(String(request.headers['anthropic-version'])) &&
        Object.keys(body).every((field) => FIELDS.includes(field));
      if (isValid || request.url === '/v1/messages') act(response);
      else answer(400, '{}')(response);
    }),
  );
  const models = [
    modelOn([targetAt(counter.url, { protocol: 'messages' })], { id: 'vendor/messages' }),
    modelOn([targetAt(counter.url)], { id: 'vendor/chat' }),
  ];
  const options = { models, clock, secret: CANARIES.upstreamKey };
  asking = await startFleet({ ...options, countTokens: 'provider' });
  estimating = await startFleet(options);
});
afterAll(async () => {
  await asking.close();
  await estimating.close();
  await counter.close();
});

const REQUEST = {
  system: 'You are a coding assistant.',
  messages: [{ role: 'user' as const, content: 'Find out why the test fails.' }],
  tools: [{ name: 'read', input_schema: { type: 'object' as const } }],
};

const count = async (fleet: Fleet, model = 'vendor/messages') => {
  calls.length = 0;
  const { status, headers, text } = await send(fleet.urls[0] ?? '', '/v1/messages/count_tokens', {
    method: 'POST',
    headers: { 'x-api-key': fleet.key },
    body: JSON.stringify({ model, ...REQUEST }),
  });
  expect(status).toBe(200);
  return { tokens: JSON.parse(text).input_tokens, by: headers['x-router-counted-by'] };
};

describe('count_tokens with the stage option countTokens=provider', () => {
  test("the SDK gets the provider's count for no unit, of a request that its counter accepts", async () => {
    calls.length = 0;
    const baseURL = asking.urls[0] ?? '';
    const client = new Anthropic({ baseURL, apiKey: asking.key, maxRetries: 0 });
    const counted = await client.messages.countTokens({ model: 'vendor/messages', ...REQUEST });
    expect(counted.input_tokens).toBe(COUNT);
    expect(calls).toEqual([
      { url: '/v1/messages/count_tokens', body: expect.objectContaining({ model: 'large' }) },
    ]);
    expect(await asking.charged()).toBe(0);
    expect((await count(asking)).by).toBe('provider');
  });

  test.each<[string, Act]>([
    ['404', answer(404, '{}')],
    ['429', answer(429, '{}')],
    ['a body that is not JSON', answer(200, '<html>')],
    ['a count that is not a number', answer(200, '{"input_tokens":"many"}')],
    ['a count after 100 KB', answer(200, `${' '.repeat(100_000)}{"input_tokens":${COUNT}}`)],
    ['a reset connection', (response) => response.destroy()],
  ])('a counter that answers %s leads to the estimate', async (_, faulty) => {
    act = faulty;
    expect(await count(asking)).toEqual({ ...(await count(estimating)), by: 'estimate' });
    act = COUNTED;
  });

  test('a counter that is silent for 800 ms leads to the estimate', async () => {
    act = () => {};
    const counted = count(asking);
    await expect.poll(() => clock.hasTimerOf(DEADLINE_MS)).toBe(true);
    clock.advance(DEADLINE_MS);
    expect((await counted).by).toBe('estimate');
    act = COUNTED;
  });

  test('a target whose breaker is open is not asked for a count until it closes', async () => {
    act = answer(429, '{}');
    const generated = await send(asking.urls[0] ?? '', '/v1/messages', {
      method: 'POST',
      headers: { 'x-api-key': asking.key },
      body: JSON.stringify({ model: 'vendor/messages', max_tokens: 10, ...REQUEST }),
    });
    expect(generated.status).toBe(503);
    act = COUNTED;
    expect([(await count(asking)).by, calls]).toEqual(['estimate', []]);
    clock.advance(COOLDOWN_MS);
    expect((await count(asking)).by).toBe('provider');
  });

  test('a target on chat has no counter: the estimate is the response, without a call', async () => {
    expect((await count(asking, 'vendor/chat')).by).toBe('estimate');
    expect(calls).toEqual([]);
  });

  test('no provider is asked without the option', async () => {
    expect((await count(estimating)).by).toBe('estimate');
    expect(calls).toEqual([]);
  });
});
