import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Target } from '../../lambdas/catalog/catalog.ts';
import { labelsOf } from '../../lambdas/metrics.ts';
import { type Clock, systemClock } from '../../lambdas/support/clock.ts';
import { openStores } from '../../local/local-stores.ts';
import { startLocal } from '../../local/start.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { createRecordedTelemetry } from '../support/recorded-telemetry.ts';
import { runCli } from '../support/run-cli.ts';
import { startBucketProvider } from './bucket-provider.ts';

/** Prompts of so many tokens, in a quota of which the bucket of the shares holds 5 s. */
const TPM = 60_000;
const HALF = 2_000;

type Reply = { error?: { code?: string; message: string; type: string } };

type AskOptions = { path?: string; onStart?: () => void; signal?: AbortSignal };

/** Three times as fast as the wall's. While it is stopped no quota fills, however long a busy machine takes to queue requests. */
const createFastClock = () => {
  const start = Date.now();
  const running = () => start + 3 * (Date.now() - start);
  let behind = 0;
  let stopped: number | undefined;
  return {
    now: () => stopped ?? running() - behind,
    after: (ms: number, action: () => void) => systemClock.after(ms / 3, action),
    stop: () => {
      stopped = running() - behind;
    },
    /** Passes `ms` of a clock that is stopped. */
    pass: (ms: number) => {
      if (stopped !== undefined) stopped += ms;
    },
    run: () => {
      if (stopped !== undefined) behind = running() - stopped;
      stopped = undefined;
    },
  };
};
const fastClock = createFastClock();

const startLab = async (clock: Clock = systemClock) => {
  const provider = await startBucketProvider({ tpm: 1e9, holdsMs: 60_000, now: Date.now });
  const stating = await startBucketProvider({ tpm: TPM, holdsMs: 60_000, now: Date.now });
  const quota = { tpm: TPM };
  const on = (id: string, ...targets: Partial<Target>[]) =>
    modelOn(
      targets.map((extra, index) =>
        targetAt(provider.url, { upstream: `${id}-${index}`, account: `${id}-${index}`, ...extra }),
      ),
      { id: `test/${id}` },
    );
  const models = ['denied', 'waiting', 'stream', 'gauge', 'overtaken', 'left'].map((id) =>
    on(id, { quota }),
  );
  const catalog = [
    ...models,
    on('large', { quota: { itpm: 500 } }),
    on('pool', { quota }, { quota }),
    on('free', {}),
    on('equal', ...[provider, stating].map(({ url }) => ({ baseUrl: url, quota, tier: 0 }))),
    on('batch', { quota }),
    on('weights', { quota: { tpm: 2 * TPM } }),
    on('rpm', { quota: { rpm: 12 } }),
    on('learned', { baseUrl: stating.url, quota: { learned: true } }),
  ];
  const { log, lines, series } = createRecordedTelemetry({ labels: labelsOf(catalog, 1_000) });
  let [opened, looks] = [0, 0];
  /** What the next write of a queue waits for. */
  let held: { reached: () => void; until: Promise<void> } | undefined;
  const hold = () => {
    const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    held = { reached: reached.resolve, until: released.promise };
    return { reached: reached.promise, release: released.resolve };
  };
  const stores = openStores(clock);
  const { openShares } = stores.parts;
  const router = await startLocal({
    catalog,
    clock,
    secrets: { secret: 'credential' },
    log,
    stores: {
      ...stores,
      parts: {
        ...stores.parts,
        ...(openShares && {
          openShares: () => {
            opened += 1;
            const store = openShares();
            return {
              ...store,
              readQueue: (name) => {
                looks += 1;
                return store.readQueue(name);
              },
              writeQueue: async (...write) => {
                const now = held;
                held = undefined;
                now?.reached();
                await now?.until;
                return store.writeQueue(...write);
              },
            };
          },
        }),
      },
    },
  });
  const admin = async (path: string, body: object) => {
    const response = await fetch(`${router.baseUrl}/admin${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return { status: response.status, body: (await response.json()) as Reply & { key: string } };
  };
  const limits = { rpm: 1_000, quota: 1_000, period: 'month' };
  await admin('/plans', { id: 'now', ...limits });
  await admin('/plans', { id: 'waits', ...limits, max_wait_ms: 30_000 });
  await admin('/plans', { id: 'batch', ...limits, max_wait_ms: 30_000, priority: 'batch' });
  const ofBatch = { priority: 'batch', max_wait_ms: 40_000 };
  await admin('/plans', { id: 'overtaken', ...limits, ...ofBatch });
  await admin('/plans', { id: 'heavy', ...limits, max_wait_ms: 30_000, weight: 4 });
  for (const id of ['team', 'other']) await admin('/projects', { id });
  const keyOf = async (plan: string, project = 'team') =>
    (await admin(`/projects/${project}/keys`, { plan })).body.key;
  const keys = {
    now: await keyOf('now'),
    waits: await keyOf('waits'),
    batch: await keyOf('batch'),
    ahead: await keyOf('overtaken'),
    overtaken: await keyOf('overtaken'),
    heavy: await keyOf('heavy', 'other'),
  };
  return {
    provider,
    stating,
    url: router.baseUrl,
    admin,
    lines,
    series,
    opened: () => opened,
    /** How often a queue was read. */
    looks: () => looks,
    hold,
    usage: async (key: string) => {
      const response = await fetch(`${router.baseUrl}/v1/usage`, { headers: { 'x-api-key': key } });
      return (await response.json()) as { period: { used: number } };
    },
    whyTarget: async (headers: Headers, plan: keyof typeof keys) => {
      const path = `/v1/requests/${headers.get('x-request-id')}`;
      const response = await fetch(router.baseUrl + path, {
        headers: { 'x-api-key': keys[plan] },
      });
      return ((await response.json()) as { why_target?: string }).why_target;
    },
    ask: async (
      model: string,
      plan: keyof typeof keys,
      tokens = HALF,
      extra: object = {},
      { path = '/v1/chat/completions', onStart = () => {}, signal }: AskOptions = {},
    ) => {
      const response = await fetch(`${router.baseUrl}${path}`, {
        method: 'POST',
        headers: { 'x-api-key': keys[plan], 'content-type': 'application/json' },
        body: JSON.stringify({
          ...{ model: `test/${model}`, max_tokens: 500, ...extra },
          messages: [{ role: 'user', content: `${'word '.repeat(tokens)}tenant=team` }],
        }),
        ...(signal && { signal }),
      });
      onStart();
      const text = await response.text();
      const error = response.ok ? undefined : (JSON.parse(text) as Reply).error;
      return { status: response.status, headers: response.headers, text, error };
    },
    keys,
    close: async () => {
      await router.close();
      await Promise.all([provider.close(), stating.close()]);
    },
  };
};

let lab: Awaited<ReturnType<typeof startLab>>;
let fast: typeof lab;
beforeAll(async () => {
  lab = await startLab();
  fast = await startLab(fastClock);
});
afterAll(() => Promise.all([lab.close(), fast.close()]));
beforeEach(() => {
  lab.provider.log.length = 0;
  fast.provider.log.length = 0;
});
afterEach(() => fastClock.run());

/** Lets a stopped clock pass by a fifth of a second after each look of those that wait. */
const passing = async <Value>(asked: Promise<Value>): Promise<Value> => {
  let isDone = false;
  const end = () => {
    isDone = true;
  };
  asked.then(end, end);
  for (let seen = fast.looks(); !isDone; seen = fast.looks()) {
    await expect.poll(() => isDone || fast.looks() > seen).toBe(true);
    fastClock.pass(200);
  }
  return asked;
};

/** Streams on the fast clock, and when all of them are queued: a stream that waits starts with its first heartbeat. */
const queued = (
  model: string,
  asked: { plan: keyof typeof fast.keys; tokens?: number }[],
  extra: object = {},
) => {
  const streams = asked.map(({ plan, tokens = HALF }) => {
    const { promise: started, resolve: onStart } = Promise.withResolvers<void>();
    const end = fast.ask(model, plan, tokens, { ...extra, stream: true }, { onStart });
    return { started, end };
  });
  return {
    ends: streams.map(({ end }) => end),
    untilQueued: Promise.all(streams.map(({ started }) => started)),
  };
};

describe('the capacity that a target declares', () => {
  test('a model whose targets declare none opens no store of shares', async () => {
    expect((await lab.ask('free', 'now')).status).toBe(200);
    expect(lab.opened()).toBe(0);
    expect(Object.keys(lab.series()).filter((name) => name.startsWith('QuotaLeft'))).toEqual([]);
  });

  test('each request is a value of what its account has left of the quota of its model', async () => {
    fastClock.stop();
    const sent = [
      await passing(fast.ask('gauge', 'waits')),
      await passing(fast.ask('gauge', 'waits')),
    ];
    expect(sent.map(({ status }) => status)).toEqual([200, 200]);
    const [first, second] = fast.lines
      .filter((line) => line.includes('"Model":"test/gauge"'))
      .map((line) => (JSON.parse(line) as { QuotaLeft?: number }).QuotaLeft);
    // Half of what 5 s of a minute's hold, as estimated; then what is missing was waited for.
    expect(first).toBeGreaterThan(30);
    expect(first).toBeLessThan(60);
    expect(second).toBeLessThan(10);
    expect(Object.keys(fast.series())).toContain(
      'QuotaLeft{Stage=test Model=test/gauge Upstream=gauge-0}',
    );
  });

  test('a request without room gets 503 with code capacity and a time, and its unit back', async () => {
    const served = await Promise.all([lab.ask('denied', 'now'), lab.ask('denied', 'now')]);
    expect(served.filter(({ status }) => status === 200)).toHaveLength(1);
    const denied = served.find(({ status }) => status === 503);
    expect(denied?.error).toMatchObject({ type: 'api_error', code: 'capacity' });
    expect(Number(denied?.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(Number(denied?.headers.get('retry-after'))).toBeLessThan(6);
    expect(lab.provider.log).toHaveLength(1);
    // By which the dashboard's table counts them for each project.
    expect(lab.lines.filter((line) => line.includes('"fault":"capacity"'))).toHaveLength(1);
    const { period } = await lab.usage(lab.keys.now);
    // That of the model without a quota, and the one that was served.
    expect(period.used).toBe(2);
  });

  test('a request that its plan lets wait is served when there is room', async () => {
    const both = await Promise.all([lab.ask('waiting', 'waits'), lab.ask('waiting', 'waits')]);
    expect(both.map(({ status }) => status)).toEqual([200, 200]);
  });

  test('a request whose client leaves while its turn is written gives its part of the quota back', async () => {
    const { reached, release } = lab.hold();
    const leaving = new AbortController();
    const left = lab.ask('left', 'now', 2 * HALF, {}, { signal: leaving.signal });
    left.catch(() => undefined);
    await reached;
    leaving.abort();
    const ended = () => lab.lines.filter((line) => line.includes('"model":"test/left"'));
    await expect.poll(() => ended().length).toBe(1);
    release();
    expect((await lab.ask('left', 'now', 2 * HALF)).status).toBe(200);
    expect(lab.provider.log).toHaveLength(1);
  });

  test('a request above the whole quota gets 413 and is not sent', async () => {
    const { status, error, headers } = await lab.ask('large', 'waits');
    expect([status, headers.get('x-should-retry')]).toEqual([413, 'false']);
    expect(error?.message).toMatch(/too large for the limits.*input of 500 a minute/);
    expect(lab.provider.log).toEqual([]);
  });

  test('a second account with room serves instead of a wait', async () => {
    const all = await Promise.all([1, 2].map(() => lab.ask('pool', 'now')));
    expect(all.map(({ status }) => status)).toEqual([200, 200]);
    const reasons = await Promise.all(all.map(({ headers }) => lab.whyTarget(headers, 'now')));
    expect(reasons.toSorted()).toEqual([
      'It is the first of the model in the catalog.',
      'pool-0/large had no room left in its quota. It is the next in order.',
    ]);
  });

  test('a pool without room lets a request wait for the account that has room first', async () => {
    const all = await Promise.all([1, 2, 3].map(() => lab.ask('pool', 'waits')));
    expect(all.map(({ status }) => status)).toEqual([200, 200, 200]);
    const reasons = await Promise.all(all.map(({ headers }) => lab.whyTarget(headers, 'waits')));
    const waited = 'None had room in its quota, and it was the first to have some.';
    expect(reasons.filter((why) => why?.includes(waited))).not.toEqual([]);
  });

  test('a pool without room that may not wait names in the record what was passed over', async () => {
    const all = await Promise.all([1, 2, 3].map(() => lab.ask('pool', 'now')));
    const denied = all.find(({ status }) => status === 503);
    const why =
      'pool-0/large had no room left in its quota; pool-1/large had no room left in its quota. None was called.';
    expect(denied && (await lab.whyTarget(denied.headers, 'now'))).toBe(why);
    const id = denied?.headers.get('x-request-id') ?? '';
    const shown = await runCli(['requests', 'show', id, '--url', lab.url]);
    expect(shown.out).toContain(`target   ${why}`);
  });

  test('requests that count one each are limited by their number', async () => {
    // 12 a minute: the bucket holds one.
    const all = await Promise.all([1, 2, 3].map(() => lab.ask('rpm', 'now', 10)));
    expect(all.map(({ status }) => status).toSorted()).toEqual([200, 503, 503]);
  });

  test('a stream that waits for room gets heartbeats before its content', async () => {
    // Above what the bucket holds: what follows waits until the debt of 12 s is paid.
    fastClock.stop();
    expect((await fast.ask('stream', 'now', 14_000)).status).toBe(200);
    const { ends, untilQueued } = queued('stream', [{ plan: 'waits' }]);
    await untilQueued;
    fastClock.run();
    const text = (await ends[0])?.text;
    expect(text).toMatch(/^(?:: waiting\n\n)+data: /);
    expect(text).toMatch(/data: \[DONE\]\n\n$/);
  });

  test('requests of a batch plan wait for those of others', async () => {
    const small = { max_tokens: 10 };
    fastClock.stop();
    const batch = Array.from({ length: 9 }, () => fast.ask('batch', 'batch', 900, small));
    await expect.poll(() => fast.provider.log.length).toBeGreaterThan(1);
    const others = queued('batch', Array(2).fill({ plan: 'waits', tokens: 920 }), small);
    await others.untilQueued;
    fastClock.run();
    const all = await Promise.all([...batch, ...others.ends]);
    expect(new Set(all.map(({ status }) => status))).toEqual(new Set([200]));
    const sizes = fast.provider.log.map(({ tokens }) => tokens);
    expect(sizes.lastIndexOf(Math.max(...sizes))).toBeLessThan(
      sizes.lastIndexOf(Math.min(...sizes)),
    );
  });

  test('a project whose plan has a weight of 4 is served four times as much as one of 1', async () => {
    // What follows waits until the debt of 2 s is paid.
    fastClock.stop();
    await fast.ask('weights', 'now', 14_000);
    fast.provider.log.length = 0;
    const twelve = (plan: 'waits' | 'heavy', tokens: number) => Array(12).fill({ plan, tokens });
    const all = [...twelve('waits', 400), ...twelve('heavy', 420)];
    const { ends, untilQueued } = queued('weights', all, { max_tokens: 10 });
    await untilQueued;
    fastClock.run();
    await Promise.all(ends);
    const sizes = fast.provider.log.map(({ tokens }) => tokens);
    expect(sizes).toHaveLength(24);
    const heavy = Math.max(...sizes);
    const places = sizes.flatMap((size, place) => (size === heavy ? place : []));
    // A mean of 7.8 by weight and 11.5 without one; two that are released at once can reach the provider in either order.
    expect(places.reduce((sum, place) => sum + place, 0) / 12).toBeLessThan(9);
    expect(sizes.findIndex((size) => size !== heavy)).toBeLessThan(10);
  });

  test('the turns of a session stay on one account of a pool while it has room', async () => {
    lab.stating.log.length = 0;
    const sessions = Array.from({ length: 16 }, (_, index) => index + 1);
    for (const session of [...sessions, ...sessions.toReversed()]) {
      // Each session has a size of its prompts.
      const turn = { max_tokens: 10, prompt_cache_key: `session-${session}` };
      expect((await lab.ask('equal', 'now', 10 * session, turn)).status).toBe(200);
    }
    const sizesOf = ({ log }: typeof lab.provider) => log.map(({ tokens }) => tokens);
    const [ones, others] = [sizesOf(lab.provider), sizesOf(lab.stating)];
    expect(ones).not.toEqual([]);
    expect(others).not.toEqual([]);
    expect(ones.filter((size) => others.includes(size))).toEqual([]);
  });

  test('a stream that others overtake until its wait is over gets the error as its event, and its unit back', async () => {
    const stream = { stream: true };
    const abort = new AbortController();
    const { signal } = abort;
    // What follows waits until the debt of 25 s is paid, and of a batch plan the first before the others.
    await fast.ask('overtaken', 'now', 29_000);
    const ahead = fast.ask('overtaken', 'ahead', HALF, stream, { signal });
    const waiting = ['/v1/chat/completions', '/v1/messages'].map((path) => {
      const { promise: hasStarted, resolve: onStart } = Promise.withResolvers<void>();
      const options = { path, onStart };
      return { hasStarted, end: fast.ask('overtaken', 'overtaken', HALF, stream, options) };
    });
    await Promise.all(waiting.map(({ hasStarted }) => hasStarted));
    const others = [1, 2, 3].map(() => fast.ask('overtaken', 'waits', 4_000, stream, { signal }));
    const ends = await Promise.all(waiting.map(({ end }) => end));
    abort.abort();
    await Promise.allSettled([ahead, ...others]);
    for (const { status, text } of ends) {
      const [, beats = '', error = ''] = /^(.*)event: error\ndata: (.*)\n\n$/s.exec(text) ?? [];
      expect([status, beats]).toEqual([200, expect.stringMatching(/waiting|ping/)]);
      const message = expect.stringMatching(
        /is used up.* Retry later\. The request is not charged/,
      );
      expect(JSON.parse(error)).toMatchObject({ error: { type: 'api_error', message } });
    }
    const used = async () => (await fast.usage(fast.keys.overtaken)).period.used;
    await expect.poll(used).toBe(0);
  });

  test('a learned quota is what the provider states, and nothing before it has', async () => {
    const before = await Promise.all([1, 2, 3].map(() => lab.ask('learned', 'now', 10)));
    expect(before.map(({ status }) => status)).toEqual([200, 200, 200]);
    const after = await Promise.all([1, 2].map(() => lab.ask('learned', 'now')));
    expect(after.map(({ status }) => status).toSorted()).toEqual([200, 503]);
    expect(after.find(({ error }) => error)?.error?.code).toBe('capacity');
  });

  test('the metrics and the doctor have each quota with its limits, what is left of it and who waits', async () => {
    await lab.ask('rpm', 'now', 10);
    const response = await fetch(`${lab.url}/admin/metrics`);
    const text = await response.text();
    expect(text).toMatch(
      /^model_router_quota_per_minute\{quota="rpm-0 large",of="requests"\} 12$/m,
    );
    expect(text).toMatch(
      /^model_router_quota_per_minute\{quota="learned-0 large",of="tokens"\} 60000$/m,
    );
    const [, left] =
      /^model_router_quota_left\{quota="rpm-0 large",of="requests"\} (.*)$/m.exec(text) ?? [];
    expect(Number(left)).toBeLessThan(1);
    expect(text).toMatch(/^model_router_quota_waiting\{quota="rpm-0 large"\} 0$/m);
    expect(text).not.toContain('quota="free');
    const checked = await fetch(`${lab.url}/admin/checks`);
    const { checks } = (await checked.json()) as { checks: { check: string; reason: string }[] };
    const shares = checks.filter(({ check }) => check === 'shares').map(({ reason }) => reason);
    expect(shares).toContain('rpm-0 large: now 0 requests of 12 a minute; 0 projects wait');
  });

  test.each([0, 1_000_000])('a plan of weight %s is rejected with the range', async (weight) => {
    const plan = { id: 'heavy', rpm: 1, quota: 1, period: 'day', weight };
    const { status, body } = await lab.admin('/plans', plan);
    expect(status).toBe(400);
    expect(body.error?.message).toMatch(/weight.*(1|1000)/);
  });

  test('a wait above a minute is rejected with the range', async () => {
    const plan = { id: 'slow', rpm: 1, quota: 1, period: 'day', max_wait_ms: 60_001 };
    expect((await lab.admin('/plans', plan)).body.error?.message).toMatch(/max_wait_ms.*60000/);
  });
});
