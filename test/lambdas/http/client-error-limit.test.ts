import { describe, expect, test } from 'vitest';
import type { LocalRouter } from '../../../local/start.ts';
import { MODEL_ON, withRouter } from '../../support/local.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { send } from '../../support/send.ts';

const MINUTE = Date.parse('2026-11-22T10:00:00Z');
const PATHS = ['/v1/chat/completions', '/v1/messages'];
const GOOD = JSON.stringify({
  model: MODEL_ON.chat,
  max_tokens: 50,
  messages: [{ role: 'user', content: 'say hi' }],
});
const BAD = ['{"model"', '[]', JSON.stringify({ model: MODEL_ON.chat }), 'x'.repeat(50_000)];

type Sent = { status: number; headers: Record<string, string>; text: string };

const clientOf = ({ baseUrl }: LocalRouter, key: string) => {
  const ask = async (body: string, path = '/v1/messages', type = 'application/json') => {
    const response = await fetch(`${baseUrl}${path}`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': type },
      body,
    });
    const { status, headers } = response;
    return { status, headers: Object.fromEntries(headers), text: await response.text() };
  };
  const misbehave = async (times: number): Promise<Sent[]> => {
    const sent: Sent[] = [];
    while (sent.length < times) {
      const batch = Array.from({ length: Math.min(50, times - sent.length) }, (_, n) =>
        ask(BAD[n % BAD.length] ?? '', PATHS[n % PATHS.length]),
      );
      sent.push(...(await Promise.all(batch)));
    }
    return sent;
  };
  const usage = () => send(baseUrl, '/v1/usage', { headers: { 'x-api-key': key } });
  return { ask, misbehave, usage };
};

const statuses = (sent: Sent[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const { status } of sent) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
};

describe('the limit on 4xx responses of a key', () => {
  test('of 1,000 bad requests of a key of rpm 1 in one minute 60 get 400 and 940 get 429, and no other key does', async () => {
    const clock = createManualClock(MINUTE + 20_500);
    await withRouter({ clock }, async (router) => {
      const bad = clientOf(router, await router.createKey({ plan: { rpm: 1 } }));
      const other = clientOf(router, await router.createKey({ plan: { rpm: 1 } }));
      const sent = await bad.misbehave(1_000);
      expect(statuses(sent)).toEqual({ 400: 60, 429: 940 });
      const held = sent.filter(({ status }) => status === 429);
      for (const { headers, text } of held) {
        expect(headers).toMatchObject({ 'retry-after': '40', 'retry-after-ms': '39500' });
        expect(headers['x-request-id']).toMatch(/^req_\w{24}$/);
        expect(JSON.parse(text).error.type).toBe('rate_limit_error');
      }
      expect(new Set(held.map(({ text }) => JSON.parse(text).type))).toEqual(
        new Set([undefined, 'error']),
      );
      expect((await bad.ask(GOOD)).status).toBe(429);
      expect((await bad.usage()).status).toBe(200);
      expect((await other.ask(GOOD)).status).toBe(200);
      clock.set(MINUTE + 60_000);
      expect((await bad.ask(GOOD)).status).toBe(200);
    });
  });

  test('a key of rpm 10 gets only 429 after 100 requests that were rejected (400, 415) or denied (429)', async () => {
    const clock = createManualClock(MINUTE);
    await withRouter({ clock }, async (router) => {
      const client = clientOf(router, await router.createKey({ plan: { rpm: 10 } }));
      for (let n = 0; n < 10; n += 1) expect((await client.ask(GOOD)).status).toBe(200);
      for (let n = 0; n < 30; n += 1) {
        const denied = await client.ask(GOOD);
        expect(denied.status).toBe(429);
        expect(denied.headers).toHaveProperty('x-ratelimit-limit-requests', '10');
        expect((await client.ask('{}', '/v1/messages', 'text/plain')).status).toBe(415);
        expect((await client.ask('{', '/v1/messages/count_tokens')).status).toBe(400);
      }
      expect(statuses(await client.misbehave(30))).toEqual({ 400: 10, 429: 20 });
      const held = await client.ask(GOOD);
      expect(held.status).toBe(429);
      expect(held.headers['retry-after']).toBe('60');
      expect(held.headers).not.toHaveProperty('x-ratelimit-limit-requests');
    });
  });

  test('a 200 and the 404 of an unknown path do not count as errors of a key', async () => {
    await withRouter({ clock: createManualClock(MINUTE) }, async (router) => {
      const client = clientOf(router, await router.createKey({ plan: { rpm: 6 } }));
      for (let n = 0; n < 70; n += 1) expect((await client.ask('', '/v1/none')).status).toBe(404);
      for (let n = 0; n < 6; n += 1) expect((await client.ask(GOOD)).status).toBe(200);
      expect(statuses(await client.misbehave(61))).toEqual({ 400: 60, 429: 1 });
    });
  });
});
