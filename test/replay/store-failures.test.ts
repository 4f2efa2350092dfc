import { expect, onTestFinished, test } from 'vitest';
import { createDynamoAnswerStore } from '../../lambdas/stores/dynamo/answer-store.ts';
import { createDynamoClient } from '../../lambdas/stores/dynamo/client.ts';
import { type DynamoProxy, startDynamoProxy, type Trouble } from '../metering/dynamo-proxy.ts';
import { TABLE_NAMES } from '../support/dynamo.ts';
import { LOCAL_AWS } from '../support/local-aws.ts';
import { passing, type ReplayBench, startReplayBench, textOf } from './replay-bench.ts';

const RENEWAL_MS = 8_000;

/** Routers whose table of responses has faults, and no other table. */
const startWithFaults = async () => {
  const proxies: DynamoProxy[] = [];
  const bench: ReplayBench = await startReplayBench({
    answersAt: async (endpoint) => {
      const proxy = await startDynamoProxy(endpoint);
      proxies.push(proxy);
      const client = createDynamoClient({
        ...LOCAL_AWS,
        endpoint: proxy.url,
        clock: { now: Date.now, after: (ms, action) => bench.clock.after(ms, action) },
      });
      onTestFinished(async () => {
        client.destroy();
        await proxy.close();
      });
      return createDynamoAnswerStore({ client, tableName: TABLE_NAMES.answers });
    },
  });
  const [proxy] = proxies;
  if (!proxy) throw new Error('no proxy');
  return { ...bench, proxy };
};

test.each<{ step: 'claim' | 'finish'; trouble: Trouble; stream: boolean }>([
  { step: 'claim', trouble: 'silence', stream: true },
  { step: 'claim', trouble: 'throttled', stream: false },
  { step: 'claim', trouble: 'reset', stream: true },
  { step: 'finish', trouble: 'silence', stream: false },
  { step: 'finish', trouble: 'throttled', stream: true },
  { step: 'finish', trouble: 'reset', stream: false },
])(
  'a table that fails a claim or a finished response costs no response, which then states that it is not stored: $step, $trouble, streamed $stream',
  async ({ step, trouble, stream }) => {
    const bench = await startWithFaults();
    const { ask, fleet, proxy, upstream } = bench;
    proxy.decide(() => {
      const isClaim = upstream.calls.length === 0;
      return isClaim === (step === 'claim') ? trouble : 'none';
    });
    const { status, headers, text } = await passing(bench, ask({ stream }));
    expect([status, text.includes(' only')]).toEqual([200, true]);
    const isInStream = stream && step === 'finish';
    if (isInStream) expect(text).toMatch(/^: idempotent-stored: false$/m);
    else expect(headers['idempotent-stored']).toBe('false');
    await expect.poll(() => fleet.charged()).toBe(1);
    expect(fleet.lines().filter(({ event }) => event === 'answer_not_stored')).toHaveLength(1);
  },
);

test('a request without an idempotency key makes no call of the table, one with it two', async () => {
  const { ask, proxy } = await startWithFaults();
  await ask({ idempotencyKey: null });
  await ask({ idempotencyKey: null, stream: false });
  expect(proxy.calls).toEqual([]);
  await ask();
  expect(proxy.calls.map(({ operation }) => operation)).toEqual(['UpdateItem', 'UpdateItem']);
});

test('a write of a finished response whose answer is lost is repeated and kept', async () => {
  const bench = await startWithFaults();
  const { ask, proxy, upstream, fleet } = bench;
  let lost = 0;
  proxy.decide(() => {
    if (upstream.calls.length === 0 || lost > 0) return 'none';
    lost += 1;
    return 'lost answer';
  });
  const first = await passing(bench, ask({ stream: false }));
  expect([lost, first.headers['idempotent-stored']]).toEqual([1, undefined]);
  expect((await ask({ stream: false, router: 1 })).text).toBe(first.text);
  expect([upstream.calls.length, await fleet.charged()]).toEqual([1, 1]);
});

/** A request fails, and its claim is not released. */
const failUnreleased = async (bench: Awaited<ReturnType<typeof startWithFaults>>) => {
  const { ask, proxy, upstream } = bench;
  upstream.state.refusesNext = 1;
  proxy.decide(() => (upstream.calls.length > 0 ? 'throttled' : 'none'));
  expect((await passing(bench, ask({ stream: false }))).status).toBe(502);
  proxy.decide(() => 'none');
};

test('a repeat takes over a failed request whose claim was not released, for one unit and without a 503', async () => {
  const bench = await startWithFaults();
  const { ask, fleet, clock } = bench;
  await failUnreleased(bench);
  clock.advance(31_000);
  const again = await passing(bench, ask({ stream: false, router: 1 }));
  expect([again.status, await fleet.charged()]).toEqual([200, 1]);
});

test('a repeat takes over a failed request whose minute the meter has closed since, for one unit and without a 503', async () => {
  const bench = await startWithFaults();
  const { ask, fleet, clock } = bench;
  await failUnreleased(bench);
  for (const minutes of [3, 6, 9]) {
    clock.advance(3 * 60_000);
    await passing(bench, ask({ idempotencyKey: null, stream: false }));
    await expect.poll(() => fleet.charged()).toBe(minutes / 3);
  }
  const again = await passing(bench, ask({ stream: false, router: 1 }));
  expect([again.status, await fleet.charged()]).toEqual([200, 4]);
  const repeated = await ask({ stream: false });
  expect([repeated.text, await fleet.charged()]).toEqual([again.text, 4]);
});

test('a repeat takes over the last unit of a quota from a process that is not heard of for 30 seconds', async () => {
  const bench = await startWithFaults();
  const { ask, lastCall, proxy, untilCalls, upstream, fleet, clock } = bench;
  const plan = { id: 'fleet', rpm: 1_000, quota: 1, period: 'month' } as const;
  await fleet.stores.plans.putPlan(plan);
  upstream.state.isQuick = false;
  const first = ask({ stream: false });
  await untilCalls(1);
  const silent = lastCall();
  silent.begin();
  await new Promise((resolve) => setTimeout(resolve, 50));
  proxy.decide(() => 'reset');
  clock.advance(30_000);
  await new Promise((resolve) => setTimeout(resolve, 50));
  proxy.decide(() => 'none');
  upstream.state.isQuick = true;
  const again = await passing(bench, ask({ stream: false, router: 1 }));
  expect([again.status, upstream.calls.length]).toEqual([200, 2]);
  silent.finish();
  await passing(bench, first);
  expect(await fleet.charged()).toBe(1);
});

test('a lease outlasts two renewals that fail', async () => {
  const bench = await startWithFaults();
  const { ask, clock, lastCall, proxy, untilCalls, upstream } = bench;
  upstream.state.isQuick = false;
  const first = ask();
  await untilCalls(1);
  lastCall().begin();
  for (const trouble of ['none', 'reset', 'reset', 'none', 'none', 'none'] as const) {
    proxy.decide(() => trouble);
    await expect
      .poll(() => {
        // The store pauses between its attempts.
        if (!clock.hasTimerOf(RENEWAL_MS)) clock.advance(20);
        return clock.hasTimerOf(RENEWAL_MS);
      })
      .toBe(true);
    clock.advance(RENEWAL_MS);
  }
  const repeat = ask({ router: 1 });
  await passing(bench, new Promise((resolve) => setTimeout(resolve, 100)), 20);
  lastCall().finish();
  expect(textOf(await passing(bench, repeat))).toContain('Answer 1: näive');
  expect(textOf(await first)).toContain('Answer 1: näive');
  expect(upstream.calls).toHaveLength(1);
});

test('a repeat that waits outlasts reads that fail', async () => {
  const bench = await startWithFaults();
  const { ask, lastCall, proxy, untilCalls, upstream, fleet } = bench;
  upstream.state.isQuick = false;
  const first = ask();
  await untilCalls(1);
  let reads = 0;
  proxy.decide(({ operation }) => {
    if (operation !== 'GetItem') return 'none';
    reads += 1;
    // The first one belongs to the claim.
    return reads > 1 && reads < 7 ? 'throttled' : 'none';
  });
  const repeat = ask({ router: 1 });
  await expect
    .poll(() => {
      bench.clock.advance(200);
      return reads;
    })
    .toBeGreaterThan(6);
  lastCall().finish();
  const [{ text }, again] = await passing(bench, Promise.all([first, repeat]));
  expect(again.text).toBe(text);
  expect([upstream.calls.length, await fleet.charged()]).toEqual([1, 1]);
});
