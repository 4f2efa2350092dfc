import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { expect, onTestFinished, test } from 'vitest';
import type { ReplayMode } from '../../lambdas/stores/plan-store.ts';
import { startCuttingProxy } from './cutting-proxy.ts';
import { startReplayBench, textOf } from './replay-bench.ts';

const MESSAGES = [{ role: 'user' as const, content: 'hi' }];
const MODEL = 'vendor/model';

const startWith = async (replay: ReplayMode) => {
  const bench = await startReplayBench();
  const plan = { id: 'fleet', rpm: 1_000, quota: 1_000, period: 'month' } as const;
  await bench.fleet.stores.plans.putPlan({ ...plan, replay });
  const proxy = await startCuttingProxy(bench.fleet.urls[0] ?? '');
  onTestFinished(proxy.close);
  return { ...bench, proxy };
};

const SDKS: Record<string, (url: string, key: string) => Promise<string>> = {
  openai: async (url, key) => {
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 2 });
    const { choices } = await client.chat.completions.create({ model: MODEL, messages: MESSAGES });
    return choices[0]?.message.content ?? '';
  },
  anthropic: async (url, key) => {
    const client = new Anthropic({ baseURL: url, apiKey: key, maxRetries: 2 });
    const request = { model: MODEL, max_tokens: 100, messages: MESSAGES };
    return client.messages.stream(request).finalText();
  },
};

test.each(Object.entries(SDKS))(
  'an SDK that retries a lost response without a key gets it for one unit if its plan replays retries: %s',
  async (_, ask) => {
    const { fleet, proxy, upstream } = await startWith('retries');
    proxy.cutNextAfter(0);
    expect(await ask(proxy.url, fleet.key)).toBe('Answer 1: näive 𝄞 words only');
    expect([upstream.calls.length, await fleet.charged()]).toEqual([1, 1]);
    // A first attempt is never a repeat, however equal it is.
    expect(await ask(proxy.url, fleet.key)).toContain('Answer 2');
  },
);

test('an SDK that retries a lost response without a key pays for two by default', async () => {
  const { fleet, proxy, upstream } = await startWith('header');
  proxy.cutNextAfter(0);
  await SDKS.openai?.(proxy.url, fleet.key);
  expect([upstream.calls.length, await fleet.charged()]).toEqual([2, 2]);
});

test('a retry without a key runs if its API key, body or model differs, or after 10 minutes', async () => {
  const { ask, clock, fleet, upstream } = await startWith('retries');
  const first = { idempotencyKey: null, headers: { 'x-stainless-retry-count': '0' } };
  const retry = { idempotencyKey: null, headers: { 'x-stainless-retry-count': '1' } };
  const original = await ask(first);
  expect((await ask({ ...retry, router: 1 })).text).toBe(original.text);
  const others = [{ prompt: 'else' }, { model: 'vendor/other' }, { key: fleet.otherKey }];
  for (const other of others) {
    expect((await ask({ ...retry, ...other })).headers['idempotent-replayed']).toBeUndefined();
  }
  clock.advance(10 * 60_000 + 1);
  expect(textOf(await ask({ ...retry, router: 1 }))).toContain('Answer 5');
  expect(upstream.calls).toHaveLength(5);
});

test('a request without a retry count runs each time, also if its plan replays retries', async () => {
  const { ask, upstream } = await startWith('retries');
  for (const _ of [1, 2]) expect((await ask({ idempotencyKey: null })).status).toBe(200);
  expect(upstream.calls).toHaveLength(2);
});

test('an idempotency key gets a 400 if the plan replays nothing, and requests without one run', async () => {
  const { ask, upstream } = await startWith('off');
  const rejected = await ask();
  expect([rejected.status, rejected.headers['x-should-retry']]).toEqual([400, 'false']);
  expect(rejected.text).toContain('Idempotency-Key');
  expect((await ask({ idempotencyKey: null })).status).toBe(200);
  expect(upstream.calls).toHaveLength(1);
});
