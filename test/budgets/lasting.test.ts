import { expect, onTestFinished, test } from 'vitest';
import type { LogFields } from '../../lambdas/log-events.ts';
import { createMemoryDatabase } from '../../local/database/memory.ts';
import { openStores } from '../../local/local-stores.ts';
import { type LocalRouter, startLocal } from '../../local/start.ts';
import { MODEL_ON, post } from '../support/local.ts';
import { createManualClock } from '../support/manual-clock.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** After it a budget that was set applies. */
const APPLIED_MS = 16_000;

/** A router in which months pass. A restart keeps its data and its keys. */
const startMonths = async () => {
  const clock = createManualClock(Date.parse('2026-11-21T12:00:00Z'));
  const database = { ...createMemoryDatabase(), close: () => undefined };
  const reached: (number | undefined)[] = [];
  const note = (event: string, { threshold }: LogFields) => {
    if (event === 'usage_threshold') reached.push(threshold);
  };
  const log = { info: note, warn: note, error: note };
  const start = async () => {
    const router = await startLocal({ clock, log, stores: openStores(clock, database) });
    onTestFinished(router.close);
    return router;
  };
  let router: LocalRouter = await start();
  const { key } = router;
  const budgetOf = (owner: string) => `/admin/projects/local/${owner}/budget`;
  return {
    clock,
    reached,
    restart: async () => {
      router = await start();
    },
    setBudget: async (owner: string, budget: { max_usd: number; period: string }) => {
      expect((await post(router, budgetOf(owner), budget)).status).toBe(200);
      clock.advance(APPLIED_MS);
    },
    read: async (owner: string) => {
      const reply = await fetch(router.baseUrl + budgetOf(owner));
      return (await reply.json()) as { spent_usd: number; forecast_usd: number };
    },
    ask: async (words: number) => {
      const content = `say ${'word '.repeat(words)}`;
      const body = { model: MODEL_ON.chat, user: 'ann', messages: [{ role: 'user', content }] };
      const reply = await post({ ...router, key }, '/v1/chat/completions', body);
      expect(reply.status).toBe(200);
      await reply.text();
    },
  };
};

test('a budget of users that becomes one in total counts what a user has spent for longer than 40 days', async () => {
  const { clock, setBudget, read, ask } = await startMonths();
  await setBudget('users', { max_usd: 1, period: 'day' });
  await ask(10);
  await setBudget('users', { max_usd: 1, period: 'total' });
  await ask(10);
  const { spent_usd: spent } = await read('users/ann');
  expect(spent).toBeGreaterThan(0);
  clock.advance(50 * DAY);
  expect((await read('users/ann')).spent_usd).toBe(spent);
});

test('the threshold of a budget in total is announced once, also by a process that starts two months later', async () => {
  const { clock, reached, restart, setBudget, ask } = await startMonths();
  await setBudget('users', { max_usd: 0.01, period: 'total' });
  for (const words of [600, 600, 600]) await ask(words);
  await expect.poll(() => reached).toEqual([50]);
  clock.advance(60 * DAY);
  await restart();
  await ask(1);
  clock.advance(HOUR);
  await ask(1);
  expect(reached).toEqual([50]);
});

test('the forecast of a budget that is seconds old, or in the minute after midnight, is of the size of what is spent', async () => {
  const { clock, setBudget, read, ask } = await startMonths();
  await setBudget('users', { max_usd: 1, period: 'day' });
  const forecast = async () => {
    for (const words of [600, 600]) await ask(words);
    const { spent_usd: spent, forecast_usd: forecasted } = await read('users/ann');
    expect(spent).toBeGreaterThan(0.001);
    return forecasted / spent;
  };
  expect(await forecast()).toBeLessThan(30);
  clock.set(Date.parse('2026-11-22T00:00:10Z'));
  expect(await forecast()).toBeLessThan(30);
});
