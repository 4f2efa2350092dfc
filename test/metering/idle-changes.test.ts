import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { askFor } from './ask.ts';
import type { Trouble } from './dynamo-proxy.ts';
import { startTroubledRouter, type TroubledRouter } from './troubled-router.ts';

/**
 * The first request of an environment that was idle: it is reserved and sent to its provider with the key and the plan
 * as this environment read them last, while both are read again.
 */
let router: TroubledRouter;
beforeAll(async () => {
  // After 250 ms of a read of a key the router would go on with the last one, and a busy machine holds it for longer.
  router = await startTroubledRouter({ patience: 30_000, now: () => NOW, slowness: 100 });
});
beforeEach(() => {
  router.proxy.decide(() => 'none');
});
afterAll(() => router.close());

/** Mid-minute and mid-month: nothing ends during a test but what it lets pass. */
const NOW = Date.parse('2026-11-10T11:30:30Z');
const IDLE_MS = 60_000;
const PATH = '/v1/chat/completions';

const admin = async (path: string, fields: object): Promise<Record<string, unknown>> => {
  const response = await fetch(`${router.adminUrl}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(fields),
  });
  expect(response.ok).toBe(true);
  return (await response.json()) as Record<string, unknown>;
};

const ask = (key: string, model = 'test/answers', stream = false) =>
  askFor(router.url, { path: PATH, key, model, stream });

let teams = 0;
/** A key that this environment has served once, an idle minute ago. */
const idleKey = async (plan: object = {}) => {
  teams += 1;
  const team = `idle-${teams}`;
  await admin('/plans', { id: team, rpm: 100, quota: 100, period: 'month', ...plan });
  await admin('/projects', { id: team });
  const { id, key } = await admin(`/projects/${team}/keys`, { plan: team });
  await (await ask(String(key))).text();
  router.advance(IDLE_MS);
  return { team, key: String(key), keyPath: `/projects/${team}/keys/${id}` };
};

/** Holds the reads of keys and plans until `release`. */
const holdReads = () => {
  const outcome = Promise.withResolvers<Trouble>();
  let held = 0;
  router.proxy.decide(({ table }) => {
    if (table !== 'keys' && table !== 'plans') return 'none';
    held += 1;
    return outcome.promise;
  });
  return { areHeld: () => held > 0, release: () => outcome.resolve('none') };
};

const usageOf = async (key: string) => {
  const response = await fetch(`${router.url}/v1/usage`, { headers: { 'x-api-key': key } });
  const { minute, period } = (await response.json()) as Record<
    'minute' | 'period',
    { used: number; reserved?: number }
  >;
  return { minute: minute.used, used: period.used, reserved: period.reserved };
};

const outcomeOfLastCall = () => router.upstreams.calls.at(-1)?.outcome;

type Key = Awaited<ReturnType<typeof idleKey>>;

test.each([
  {
    what: 'its plan was lowered',
    change: ({ team }: Key) => admin(`/plans/${team}`, { quota: 1 }),
    status: 402,
  },
  {
    what: 'its plan lost the model',
    change: ({ team }: Key) => admin(`/plans/${team}`, { models: ['test/refuses'] }),
    status: 400,
  },
  {
    what: 'it was paused',
    change: ({ keyPath }: Key) => admin(`${keyPath}/pause`, {}),
    status: 401,
  },
])(
  'the first request of a key after an idle minute in which $what gets $status, no content and no unit, and its provider call is aborted',
  async ({ change, status }) => {
    const key = await idleKey();
    await change(key);
    const { release } = holdReads();
    const response = ask(key.key, 'test/stops', true);
    await expect.poll(outcomeOfLastCall).toBe('open');
    release();
    expect((await response).status).toBe(status);
    expect(await (await response).text()).not.toContain('delta');
    await expect.poll(outcomeOfLastCall).toBe('abandoned');
    if (status === 401) await admin(`${key.keyPath}/resume`, {});
    router.advance(10_000);
    expect(await usageOf(key.key)).toEqual({ minute: 0, used: 1, reserved: 0 });
  },
);

test('the first request of a key after an idle minute in which it moved to another plan is counted once, by that plan', async () => {
  const { key, keyPath } = await idleKey();
  await admin('/plans', { id: `${teams}-daily`, rpm: 1, quota: 7, period: 'day' });
  await admin(`${keyPath}/move`, { plan: `${teams}-daily` });
  const { release } = holdReads();
  const response = ask(key, 'test/dawdles', true);
  await expect.poll(outcomeOfLastCall).toBe('open');
  release();
  expect((await response).status).toBe(200);
  expect((await response).headers.get('x-quota-limit')).toBe('7');
  expect(await (await response).text()).toContain('[DONE]');
  expect(router.upstreams.calls.slice(-2).map(({ outcome }) => outcome)).toEqual([
    'abandoned',
    'answered',
  ]);
  await expect.poll(() => usageOf(key)).toEqual({ minute: 1, used: 1, reserved: 0 });
});

test('the first request of a key after an idle minute in which its plan was raised is admitted', async () => {
  const { team, key } = await idleKey({ quota: 1 });
  await admin(`/plans/${team}`, { quota: 2 });
  expect((await ask(key)).status).toBe(200);
});

test('the first request of a key after an idle minute sends no content before key and plan are read again', async () => {
  const { key } = await idleKey();
  const { release } = holdReads();
  let isAnswered = false;
  const response = ask(key).then((answered) => {
    isAnswered = true;
    return answered;
  });
  await expect.poll(outcomeOfLastCall).toBe('answered');
  await pause(100);
  expect(isAnswered).toBe(false);
  release();
  expect((await response).status).toBe(200);
  await expect.poll(() => usageOf(key)).toEqual({ minute: 1, used: 2, reserved: 0 });
});

test.each([
  {
    what: 'it was paused',
    change: ({ keyPath }: Key) => admin(`${keyPath}/pause`, {}),
    status: 401,
  },
  {
    what: 'it was revoked',
    change: ({ keyPath }: Key) => admin(`${keyPath}/revoke`, {}),
    status: 401,
  },
  {
    what: 'its plan stopped to replay',
    change: ({ team }: Key) => admin(`/plans/${team}`, { replay: 'off' }),
    status: 400,
  },
  {
    what: 'its plan lost the model',
    change: ({ team }: Key) => admin(`/plans/${team}`, { models: ['test/refuses'] }),
    status: 400,
  },
])(
  'a key that was idle for a minute in which $what gets $status instead of a kept response',
  async ({ change, status }) => {
    const key = await idleKey();
    const repeat = () =>
      askFor(router.url, {
        path: PATH,
        key: key.key,
        model: 'test/answers',
        idempotencyKey: 'one',
      });
    const first = await (await repeat()).text();
    router.advance(IDLE_MS);
    expect(await (await repeat()).text()).toBe(first);
    const { length } = router.upstreams.calls;
    router.advance(IDLE_MS);
    await change(key);
    const response = await repeat();
    expect(response.status).toBe(status);
    expect(await response.text()).not.toContain('choices');
    expect(router.upstreams.calls).toHaveLength(length);
  },
);

test('a request that costs no unit waits for key and plan after an idle minute', async () => {
  const { key, keyPath } = await idleKey();
  await admin(`${keyPath}/pause`, {});
  const response = await fetch(`${router.url}/v1/models`, { headers: { 'x-api-key': key } });
  expect(response.status).toBe(401);
});
