import { createServer } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import type { Target } from '../../../lambdas/catalog/catalog.ts';
import { parseModels } from '../../../lambdas/catalog/parse-models.ts';
import { type Clock, MINUTE_MS, systemClock } from '../../../lambdas/support/clock.ts';
import { openStores } from '../../../local/local-stores.ts';
import { listen } from '../../../local/loopback.ts';
import { startLocal } from '../../../local/start.ts';
import { answer, status } from '../../support/fleet-upstream.ts';
import { modelOn, targetAt } from '../../support/models.ts';

/** The clock of the routers is moved on by what a provider takes, and by tests that wait. */
let shift = 0;
const clock: Clock = { now: () => Date.now() + shift, after: systemClock.after };

/** Takes `ms` until its first content; 0 fails. */
const startProvider = async (ms: number) => {
  const provider = { ms, calls: 0 };
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      provider.calls += 1;
      shift += provider.ms;
      (provider.ms === 0 ? status(500) : answer)(response);
    });
  });
  return Object.assign(provider, await listen(server));
};
type Router = Awaited<ReturnType<typeof startLocal>>;

const PRICES = (input: number, output: number): Pick<Target, 'prices'> => ({
  prices: { currency: 'USD', versions: [{ from: '2026-01-01', input, output }] },
});

const startLab = async () => {
  const [quick, slow] = await Promise.all([startProvider(100), startProvider(1_000)]);
  const on = (id: string, extra: Partial<Target> = {}, other: Partial<Target> = {}) => [
    targetAt(slow.url, { upstream: `${id}-slow`, tier: 0, ...extra }),
    targetAt(quick.url, { upstream: `${id}-quick`, tier: 0, ...other }),
  ];
  const modelsOf = (ids: string[], prefer: 'speed' | 'price', ...prices: Partial<Target>[]) =>
    ids.map((id) => modelOn(on(id, ...prices), { id: `test/${id}`, prefer }));
  const catalog = [
    ...modelsOf(['fast', 'stays', 'shared', 'turns', 'fails'], 'speed'),
    ...modelsOf(['cheap'], 'price', PRICES(1, 5), PRICES(0.5, 3)),
    ...modelsOf(['unpriced'], 'price', PRICES(1, 5)),
    modelOn(on('weights'), { id: 'test/weights' }),
  ];
  const start = (stores = openStores(clock)) =>
    startLocal({ catalog: parseModels(catalog), secrets: { secret: 'credential' }, clock, stores });
  const stores = openStores(clock);
  const router = await start(stores);
  return { quick, slow, router, stores, start };
};

let lab: Awaited<ReturnType<typeof startLab>>;
beforeAll(async () => {
  lab = await startLab();
});
afterAll(async () => {
  await lab?.router.close();
  await Promise.all([lab?.quick.close(), lab?.slow.close()]);
});

const Explained = z.looseObject({
  why_target: z.optional(z.string()),
  attempts: z.array(z.looseObject({ upstream: z.string() })),
});

/** Asks in a session, and returns who served it and why. */
const ask = async (
  model: string,
  session: string,
  { key = lab.router.key, router = lab.router as Router } = {},
) => {
  const headers = { 'x-api-key': key, 'content-type': 'application/json', 'x-session-id': session };
  const response = await fetch(`${router.baseUrl}/v1/chat/completions`, {
    method: 'POST',
    headers,
    body: JSON.stringify({
      ...{ model: `test/${model}`, stream: true, max_tokens: 9 },
      messages: [{ role: 'user', content: `question of ${session}` }],
    }),
  });
  await response.text();
  const id = response.headers.get('x-request-id');
  const explained = await fetch(`${router.baseUrl}/v1/requests/${id}`, { headers });
  const { why_target: why, attempts } = Explained.parse(await explained.json());
  return { upstream: attempts.at(-1)?.upstream.replace(`${model}-`, ''), why };
};

const SESSIONS = Array.from({ length: 16 }, (_, index) => `session ${index}`);

/** How many of sixteen sessions the slow provider serves. */
const countSlow = async (model: string, name = '', router?: Router) => {
  let slow = 0;
  for (const session of SESSIONS) {
    const { upstream } = await ask(
      model,
      name + session,
      router && { router, key: lab.router.key },
    );
    if (upstream === 'slow') slow += 1;
  }
  return slow;
};

/** Of 48 sessions. */
const countOfMany = async (model: string) => {
  let slow = 0;
  for (const name of ['second ', 'third ', 'fourth ']) slow += await countSlow(model, name);
  return slow;
};
/** Four standard deviations from half of 48: the key, which is random, decides with the session. */
const LEAST = 10;

test('sessions of a model without a preference are shared by weight, and the record says so', async () => {
  const slow = await countOfMany('weights');
  expect(slow).toBeGreaterThan(LEAST);
  expect(slow).toBeLessThan(48 - LEAST);
  expect((await ask('weights', 'any')).why).toBe(
    'The session of the request falls to it by the weights of its tier.',
  );
});

test('a model that prefers speed sends new sessions to the fastest target, with the figures', async () => {
  await countSlow('fast');
  const explained = await ask('fast', 'new');
  expect(explained.upstream).toBe('quick');
  expect(explained.why).toMatch(
    /^It is one of the fastest of its tier\. Median to the first content: .*fast-quick\/large 1\d\d ms/,
  );
  expect(explained.why).toMatch(/fast-slow\/large 1\d\d\d ms/);
  expect(await countSlow('fast', 'later ')).toBe(0);
});

test('a session stays with the target that served it, until a cache has forgotten it', async () => {
  const placed = new Map<string, string | undefined>();
  for (const session of SESSIONS) placed.set(session, (await ask('stays', session)).upstream);
  const [mine = ''] = [...placed].find(([, upstream]) => upstream === 'slow') ?? [];
  expect(await ask('stays', mine)).toEqual({
    upstream: 'slow',
    why: 'It served the session of the request before.',
  });
  shift += 9 * MINUTE_MS;
  expect((await ask('stays', mine)).upstream).toBe('slow');
  shift += 11 * MINUTE_MS;
  // Both have figures again.
  await countSlow('stays', 'later ');
  expect((await ask('stays', mine)).upstream).toBe('quick');
});

test('processes share the figures, so that all have the same order', async () => {
  await countSlow('shared');
  const other = await lab.start({ ...lab.stores, close: async () => {} });
  try {
    await ask('shared', 'first', { router: other, key: lab.router.key });
    expect(await countSlow('shared', 'elsewhere ', other)).toBe(0);
  } finally {
    await other.close();
  }
});

test('a target that became slower loses the new sessions to one that is faster now', async () => {
  await countSlow('turns');
  expect((await ask('turns', 'before')).upstream).toBe('quick');
  const [quick, slow] = [lab.quick.ms, lab.slow.ms];
  try {
    [lab.quick.ms, lab.slow.ms] = [3_000, 50];
    // What was not called has no figure after ten minutes, and is tried again.
    for (let minute = 0; minute < 12; minute += 1) {
      shift += MINUTE_MS;
      await countSlow('turns', `minute ${minute} `);
    }
    expect((await ask('turns', 'after')).upstream).toBe('slow');
  } finally {
    [lab.quick.ms, lab.slow.ms] = [quick, slow];
  }
});

test('a target of 110 ms beside one of 100 ms keeps its sessions', async () => {
  const [quick, slow] = [lab.quick.ms, lab.slow.ms];
  try {
    // The same ratio, of a hundred times as much: real milliseconds of a busy machine are nothing next to it.
    [lab.quick.ms, lab.slow.ms] = [10_000, 11_000];
    await countSlow('fails');
    expect(await countOfMany('fails')).toBeGreaterThan(LEAST);
  } finally {
    [lab.quick.ms, lab.slow.ms] = [quick, slow];
  }
});

test('the target that fails is named in the record of the one that served instead', async () => {
  const ms = lab.slow.ms;
  try {
    lab.slow.ms = 0;
    for (const session of SESSIONS) {
      const { upstream, why = '' } = await ask('weights', `failing ${session}`);
      expect(upstream).toBe('quick');
      if (why.includes('weights-slow')) {
        expect(why).toMatch(
          /^weights-slow\/large (failed|was held off after failures)\. It is the next in order\.$/,
        );
        return;
      }
    }
    expect.unreachable('No session fell to the target that fails.');
  } finally {
    lab.slow.ms = ms;
  }
});

test('a model that prefers price sends to the cheapest target, and only operators see the prices', async () => {
  expect(await countSlow('cheap')).toBe(0);
  const { why } = await ask('cheap', 'any');
  expect(why).toBe('It is the cheapest of its tier.');
  const list = await fetch(`${lab.router.baseUrl}/admin/requests?model=test/cheap&project=local`);
  const { data } = z
    .looseObject({ data: z.array(z.looseObject({ id: z.string() })) })
    .parse(await list.json());
  const record = await fetch(`${lab.router.baseUrl}/admin/requests/${data[0]?.id}`);
  expect(await record.json()).toMatchObject({
    why_target:
      'It is the cheapest of its tier. A million tokens, three of input to one of output: cheap-slow/large $2, cheap-quick/large $1.125.',
  });
});

test('a target without prices counts with those of its model', async () => {
  // $1 and $2 of the model, against $1 and $5.
  expect(await countSlow('unpriced')).toBe(0);
});

test('a preference without two targets of one tier is rejected', () => {
  const targets = [
    targetAt('http://127.0.0.1:1'),
    targetAt('http://127.0.0.1:1', { upstream: 'b' }),
  ];
  expect(() => parseModels([modelOn(targets, { prefer: 'speed' })])).toThrow(
    /needs two targets of one tier.*\n.*prefer/,
  );
});
