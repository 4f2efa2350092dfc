import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { systemClock } from '../../lambdas/support/clock.ts';
import { MODEL_ON, post, useRouter, withRouter } from '../support/local.ts';

const HELLO = { messages: [{ role: 'user', content: 'say hello to you' }] };

describe('the local router', () => {
  const router = useRouter();

  test.each([
    ['chat', MODEL_ON.chat],
    ['messages', MODEL_ON.messages],
  ])('a %s request reaches the embedded upstream', async (protocol, model) => {
    router().upstreams.reset();
    const response = await post(router(), '/v1/chat/completions', { ...HELLO, model });
    expect(await response.json()).toMatchObject({
      model,
      choices: [{ message: { content: 'hello to you' } }],
    });
    expect(router().upstreams.calls).toMatchObject([{ protocol, outcome: 'answered' }]);
  });

  test('createKey creates each key with a separate plan', async () => {
    const key = await router().createKey({ plan: { quota: 1 } });
    const ask = () =>
      post(router(), '/v1/chat/completions', { ...HELLO, model: MODEL_ON.chat }, { key });
    expect([(await ask()).status, (await ask()).status]).toEqual([200, 402]);
    const other = await post(router(), '/v1/chat/completions', { ...HELLO, model: MODEL_ON.chat });
    expect(other.status).toBe(200);
  });

  test('a request fails over to the next target when the first returns 500', async () => {
    router().upstreams.reset();
    router().upstreams.inject({ fault: { kind: 'status', status: 500 }, protocol: 'chat' });
    const response = await post(router(), '/v1/chat/completions', {
      ...HELLO,
      model: MODEL_ON.chat,
    });
    expect(response.status).toBe(200);
    expect(router().upstreams.calls.map(({ protocol }) => protocol)).toEqual(['chat', 'messages']);
    router().upstreams.reset();
  });
});

test('targets keep their addresses when credentials are passed', async () => {
  await withRouter({}, async (provider) => {
    const [model] = provider.models;
    if (!model) throw new Error('The default catalog is empty.');
    const catalog = [{ ...model, id: 'own/model' }];
    const secrets = { aurora: 'local-aurora', borealis: 'local-borealis' };
    await withRouter({ catalog, secrets }, async (router) => {
      const reply = await post(router, '/v1/chat/completions', { ...HELLO, model: 'own/model' });
      expect(reply.status).toBe(200);
    });
    expect(provider.upstreams.calls).toHaveLength(1);
  });
});

test('of 200 concurrent requests exactly as many pass as the plan allows in a minute', async () => {
  // A stopped clock: at a minute's boundary the next minute's requests would pass, too.
  const now = Date.now();
  const clock = { ...systemClock, now: () => now };
  await withRouter({ clock, plan: { rpm: 120 } }, async (router) => {
    const ask = async () => {
      const reply = await post(router, '/v1/messages', {
        ...HELLO,
        model: MODEL_ON.chat,
        max_tokens: 5,
      });
      await reply.text();
      return reply.status;
    };
    const statuses = await Promise.all(Array.from({ length: 200 }, ask));
    expect(statuses.filter((status) => status === 200)).toHaveLength(120);
    expect(statuses.filter((status) => status === 429)).toHaveLength(80);
  });
});

test.each([
  ['a body that is not JSON', '/v1/chat/completions', '{"model":'],
  ['a body of another type', '/v1/messages', '[]'],
  ['no body', '/v1/responses', ''],
  ['an unknown model', '/v1/chat/completions', '{"model":"no/such","messages":[]}'],
  ['a body to count that is not JSON', '/v1/messages/count_tokens', '{'],
])('a revoked key that was last read 11 s ago gets 401 for %s', async (_, path, body) => {
  let now = Date.now();
  const clock = { ...systemClock, now: () => now };
  await withRouter({ clock }, async (router) => {
    const headers = { 'x-api-key': router.key, 'content-type': 'application/json' };
    const ask = () => fetch(router.baseUrl + path, { method: 'POST', headers, body });
    expect((await ask()).status).not.toBe(401);
    const keys = `${router.baseUrl}/admin/projects/local/keys`;
    const { data } = z
      .object({ data: z.array(z.object({ id: z.string() })) })
      .parse(await (await fetch(keys)).json());
    const revoked = await fetch(`${keys}/${data[0]?.id}/revoke`, {
      method: 'POST',
      headers,
      body: '{}',
    });
    expect(revoked.status).toBe(200);
    now += 11_000;
    expect((await ask()).status).toBe(401);
  });
});
