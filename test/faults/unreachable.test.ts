import { expect, onTestFinished, test } from 'vitest';
import type { LogEvent } from '../../lambdas/log-events.ts';
import { createCountingClock } from '../support/counting-clock.ts';
import { type Environments, startEnvironments } from '../support/environments.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { startPromptedUpstream } from '../support/prompted-upstream.ts';
import { send } from '../support/send.ts';

/** A port of the loopback address without a server. */
const NOWHERE = 'http://127.0.0.1:1';

/** Environments that share a target; those in `cutOff` cannot connect to it. */
const setUp = async (size: number, cutOff: Set<number>) => {
  const clock = createCountingClock(Date.UTC(2026, 10, 21, 12));
  const upstream = await startPromptedUpstream();
  const fleet: Environments = await startEnvironments({
    models: [modelOn([targetAt(upstream.url)])],
    modelsOf: (environment) => [
      modelOn([targetAt(cutOff.has(environment) ? NOWHERE : upstream.url)]),
    ],
    clock,
    offsets: Array.from({ length: size }, () => 0),
  });
  onTestFinished(async () => {
    await fleet.close();
    await upstream.close();
  });
  const tenants = [await fleet.createTenant(), await fleet.createTenant()];
  let turn = 0;
  /** Asks as two tenants in turns. */
  const ask = async (environment: number): Promise<number> => {
    turn += 1;
    const { status } = await send(
      fleet.environments[environment]?.url ?? '',
      '/v1/chat/completions',
      {
        method: 'POST',
        headers: { 'x-api-key': tenants[turn % 2]?.key ?? '' },
        body: JSON.stringify({
          model: 'vendor/model',
          messages: [{ role: 'user', content: 'hi' }],
        }),
      },
    );
    return status;
  };
  const count = (environment: number, name: LogEvent): number =>
    fleet.environments[environment]?.lines().filter(({ event }) => event === name).length ?? 0;
  return { clock, ask, count };
};

test('an environment that cannot connect to a target takes it from no other environment', async () => {
  const { clock, ask, count } = await setUp(3, new Set([0]));
  const others: number[] = [];
  for (let second = 0; second < 60; second += 1) {
    expect(await ask(0)).toBeGreaterThanOrEqual(500);
    others.push(await ask(1 + (second % 2)));
    clock.advance(1_000);
  }
  expect(new Set(others)).toEqual(new Set([200]));
  expect([1, 2].map((environment) => count(environment, 'breaker_opened'))).toEqual([0, 0]);
  // It holds back what would fail, but for one request a second.
  expect(count(0, 'breaker_opened')).toBeGreaterThan(1);
});

test('the second environment that cannot connect to a target opens its breaker for all, and one that can closes it', async () => {
  const { clock, ask, count } = await setUp(3, new Set([0, 1]));
  for (let times = 0; times < 2; times += 1) await ask(0);
  expect(count(0, 'breaker_opened')).toBe(1);
  clock.advance(3_000);
  for (let times = 0; times < 2; times += 1) await ask(1);
  // Its own and that of all.
  expect(count(1, 'breaker_opened')).toBe(2);
  clock.advance(3_000);
  // The one request a second that is sent while breakers are open.
  expect(await ask(2)).toBe(200);
  expect(count(2, 'breaker_closed')).toBe(1);
  for (let times = 0; times < 5; times += 1) expect(await ask(2)).toBe(200);
});
