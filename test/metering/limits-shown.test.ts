import { describe, expect, test } from 'vitest';
import { systemClock } from '../../lambdas/support/clock.ts';
import { MODEL_ON, post, useRouter } from '../support/local.ts';

const NOW = Date.parse('2026-11-21T11:30:20Z');
const router = useRouter({ clock: { ...systemClock, now: () => NOW } });

const ask = (path: string, key: string, prompt = 'say hi', stream = false) =>
  post(
    router(),
    path,
    { model: MODEL_ON.chat, max_tokens: 9, stream, messages: [{ role: 'user', content: prompt }] },
    { key },
  );

const limitsIn = ({ headers }: Response): Record<string, string> =>
  Object.fromEntries([...headers].filter(([name]) => /ratelimit|quota/.test(name)));

const shown = (rate: [number, number], quota: [number, number], path: string) => ({
  'x-ratelimit-limit-requests': String(rate[0]),
  'x-ratelimit-remaining-requests': String(rate[1]),
  'x-ratelimit-reset-requests': '40s',
  'x-quota-limit': String(quota[0]),
  'x-quota-remaining': String(quota[1]),
  'x-quota-reset': '2026-12-01T00:00:00Z',
  ...(path === '/v1/messages' && {
    'anthropic-ratelimit-requests-limit': String(rate[0]),
    'anthropic-ratelimit-requests-remaining': String(rate[1]),
    'anthropic-ratelimit-requests-reset': '2026-11-21T11:31:00.000Z',
  }),
});

describe.each(['/v1/chat/completions', '/v1/messages'])('responses of %s', (path) => {
  const limited = (rpm: number, quota: number) => router().createKey({ plan: { rpm, quota } });

  test.each([false, true])(
    'the limit headers include the request itself (streamed: %s)',
    async (stream) => {
      const key = await limited(5, 9);
      for (const n of [1, 2]) {
        const response = await ask(path, key, 'say hi', stream);
        expect(response.status).toBe(200);
        expect(limitsIn(response)).toEqual(shown([5, 5 - n], [9, 9 - n], path));
        await response.text();
      }
    },
  );

  test.each([false, true])(
    'the limit headers of a failure show the refunded unit (streamed: %s)',
    async (stream) => {
      const key = await limited(5, 9);
      const response = await ask(path, key, 'fault status=500\nfault status=500', stream);
      expect(response.status).toBeGreaterThanOrEqual(500);
      expect(limitsIn(response)).toEqual(shown([5, 4], [9, 9], path));
    },
  );

  test.each([
    { status: 402, rpm: 5, quota: 1, left: [4, 0] as const },
    { status: 429, rpm: 1, quota: 9, left: [0, 8] as const },
  ])(
    'a $status has the limit headers and the time of the reset',
    async ({ status, rpm, quota, left }) => {
      const key = await limited(rpm, quota);
      await (await ask(path, key)).text();
      for (const stream of [false, true]) {
        const refused = await ask(path, key, 'say hi', stream);
        expect(refused.status).toBe(status);
        expect(limitsIn(refused)).toEqual(shown([rpm, left[0]], [quota, left[1]], path));
        expect(refused.headers.get('retry-after')).toBe(status === 402 ? null : '40');
        const { error } = (await refused.json()) as { error: { message: string } };
        if (status === 402) expect(error.message).toContain('Retry after 2026-12-01T00:00:00Z.');
      }
    },
  );
});

describe('GET /v1/usage', () => {
  const usage = async (key: string) => {
    const response = await fetch(`${router().baseUrl}/v1/usage`, { headers: { 'x-api-key': key } });
    return { status: response.status, body: await response.json() };
  };

  test('GET /v1/usage returns plan, usage and remaining quota of the key, and takes no unit', async () => {
    const plan = { id: 'shown', rpm: 5, quota: 9 };
    const key = await router().createKey({ plan });
    const body = {
      object: 'usage',
      key_id: expect.stringMatching(/^key_/),
      project_id: 'local',
      plan: { ...plan, period: 'month' },
      minute: { limit: 5, used: 0, remaining: 5, resets_at: '2026-11-21T11:31:00Z' },
      period: {
        limit: 9,
        used: 0,
        reserved: 0,
        remaining: 9,
        resets_at: '2026-12-01T00:00:00Z',
      },
      last_used_at: null,
    };
    expect(await usage(key)).toEqual({ status: 200, body });
    await (await ask('/v1/messages', key)).text();
    const used = {
      ...body,
      minute: { ...body.minute, used: 1, remaining: 4 },
      period: { ...body.period, used: 1, remaining: 8 },
      last_used_at: '2026-11-21T11:30:20Z',
    };
    expect(await usage(key)).toEqual({ status: 200, body: used });
    expect(await usage(key)).toEqual({ status: 200, body: used });
    const other = await router().createKey({ plan: { ...plan, id: 'another' } });
    expect(await usage(other)).toMatchObject({ body: { period: { used: 0 } } });
  });

  test('GET /v1/usage works with an exhausted quota, and requires a key', async () => {
    const key = await router().createKey({ plan: { rpm: 0, quota: 0 } });
    expect(await usage(key)).toMatchObject({ status: 200, body: { period: { remaining: 0 } } });
    expect((await usage('')).status).toBe(401);
  });
});
