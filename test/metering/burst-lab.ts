import { createServer } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { systemClock } from '../../lambdas/support/clock.ts';
import { listen } from '../../local/loopback.ts';
import { startEnvironments } from '../support/environments.ts';
import { answer } from '../support/fleet-upstream.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { askFor } from './ask.ts';

const START = Date.parse('2026-11-10T11:30:05Z');
/** How many times as long the timers of the routers last. */
const SLOWNESS = 100;
const BETWEEN_BURSTS_MS = 10 * 60_000;
const PATHS = ['/v1/chat/completions', '/v1/messages', '/v1/responses'];

export type Burst = {
  plan: { rpm?: number; quota?: number; concurrency?: number };
  /** Requests at once, by turns to each process. */
  callers: number;
  processes: number;
  /** Before the burst, of each process, one after another. */
  warmUps?: number;
  /** Of each call of the tables. */
  delayMs: number;
  /** Of each response of the provider. */
  answerMs: number;
  /** Requests of the burst are sent within so many ms. */
  spreadMs?: number;
};

/** `calls` and `mostOpen` are the provider's own counts; `admitted` is that of the meter. */
export type Counted = {
  admitted: number;
  calls: number;
  mostOpen: number;
  statuses: Record<number, number>;
};

/** Four environments with a slow way to their tables, and a provider that counts its calls. Time stands still. */
export const startBurstLab = async () => {
  let now = START;
  const provider = { calls: 0, open: 0, mostOpen: 0, answerMs: 0 };
  const upstream = await listen(
    createServer((request, response) => {
      provider.calls += 1;
      provider.open += 1;
      provider.mostOpen = Math.max(provider.mostOpen, provider.open);
      response.once('close', () => {
        provider.open -= 1;
      });
      const respond = () => response.destroyed || answer(response);
      request.resume().once('end', () => setTimeout(respond, provider.answerMs));
    }),
  );
  const fleet = await startEnvironments({
    models: [modelOn([targetAt(upstream.url)])],
    // A busy machine holds calls for longer than a router waits for them.
    clock: { now: () => now, after: (ms, action) => systemClock.after(ms * SLOWNESS, action) },
    offsets: [0, 0, 0, 0],
  });

  const run = async (burst: Burst): Promise<Counted> => {
    const { plan, callers, processes, warmUps = 1, delayMs, answerMs, spreadMs = 0 } = burst;
    now += BETWEEN_BURSTS_MS;
    const { key, charged } = await fleet.createTenant(plan);
    const servers = fleet.environments.slice(0, processes);
    const ask = async (n: number): Promise<number> => {
      const [url, path] = [servers[n % processes]?.url ?? '', PATHS[n % PATHS.length] ?? ''];
      const response = await askFor(url, { path, key, model: 'vendor/model' });
      await response.text();
      return response.status;
    };
    for (const { dynamo } of servers) dynamo.decide(() => 'none');
    provider.answerMs = 0;
    for (let n = 0; n < warmUps * processes; n += 1) await ask(n);
    const warm = await charged();
    Object.assign(provider, { calls: 0, mostOpen: 0, answerMs });
    if (delayMs > 0) {
      for (const { dynamo } of servers) dynamo.decide(() => pause(delayMs, 'none' as const));
    }
    const later = (n: number) => pause((spreadMs * n) / callers).then(() => ask(n));
    const seen = await Promise.all(
      Array.from({ length: callers }, (_, n) => (spreadMs > 0 ? later(n) : ask(n))),
    );
    const statuses: Counted['statuses'] = {};
    for (const status of seen) statuses[status] = (statuses[status] ?? 0) + 1;
    const { calls, mostOpen } = provider;
    return { admitted: (await charged()) - warm, calls, mostOpen, statuses };
  };

  const close = async () => {
    await fleet.close();
    await upstream.close();
  };
  return { run, close };
};
