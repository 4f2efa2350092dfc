import { expect, onTestFinished, test } from 'vitest';
import { PRESETS } from '../../lambdas/catalog/profiles.ts';
import { startBundle } from '../rehearsal/start-bundle.ts';
import { functionUrl } from '../runtime/events.ts';
import { bundleFor, environmentFor } from '../runtime/start-function.ts';
import { createAnthropicCache } from '../support/caching-provider/anthropic-cache.ts';
import { ANTHROPIC, billedInput } from '../support/caching-provider/bill.ts';
import { startCachingProvider } from '../support/caching-provider/server.ts';
import { startOnDynamo } from '../support/dynamo-stores.ts';
import { startWatched } from '../support/local.ts';
import { createManualClock } from '../support/manual-clock.ts';
import { modelOn, targetAt } from '../support/models.ts';
import {
  directBodies,
  MODEL,
  playDirect,
  recorded,
  STEP_MS,
  withoutThinking,
} from '../support/sessions/play.ts';

const PROCESSES = 4;
const WIRE = { wire: 'messages' } as const;

test('a session whose steps are served by four processes of the shipped bundle stays on one of two equal targets, for 1.02 of what it costs at the provider', async () => {
  const clock = createManualClock(Date.UTC(2026, 10, 24, 9));
  const providers = await Promise.all(
    [1, 2].map(() => startCachingProvider({ ...WIRE, cache: createAnthropicCache(), clock })),
  );
  const model = modelOn(
    providers.map(({ url }, at) =>
      targetAt(url, {
        ...{ upstream: `account-${at}`, protocol: 'messages', model: 'claude-sonnet-5' },
        ...{ secret: 'aurora', tier: 0, profile: PRESETS['claude-5'] },
      }),
    ),
    { id: MODEL },
  );
  const local = await startOnDynamo({}, startWatched);
  const { folder, remove } = bundleFor({ models: [model] });
  const env = environmentFor(local.endpoints);
  const routers = Array.from({ length: PROCESSES }, () =>
    startBundle(folder, env, { isProcess: true }),
  );
  onTestFinished(async () => {
    await Promise.all(routers.map(({ stop }) => stop()));
    remove();
    await local.close();
    for (const { close } of providers) await close();
  });

  const session = withoutThinking(recorded('claude-code'));
  for (const [index, { headers, body }] of session.requests.entries()) {
    const event = functionUrl(session.path, { key: local.key, body });
    const sent = { ...event, headers: { ...event.headers, ...headers } };
    const served = await routers[index % PROCESSES]?.invoke(clock.now(), sent);
    expect(served?.status, served?.text).toBe(200);
    clock.advance(STEP_MS);
  }
  const counts = providers.map(({ log }) => log.length);
  expect(counts.toSorted((one, other) => one - other)).toEqual([0, session.requests.length]);
  const direct = await playDirect(directBodies(session), WIRE);
  const billed = providers.flatMap(({ log }) => log);
  expect(billedInput(billed, ANTHROPIC) / billedInput(direct, ANTHROPIC)).toBeLessThanOrEqual(1.02);
});
