import { expect, onTestFinished, test } from 'vitest';
import { modelOn, targetAt } from '../support/models.ts';
import { startHeldUpstream } from './held-upstream.ts';
import { startReplayBench } from './replay-bench.ts';

const HEADER = { idempotencyHeader: 'Idempotency-Key' };

test('a call that a second target repeats has the idempotency key of the first, and another request another key', async () => {
  const provider = await startHeldUpstream();
  onTestFinished(provider.close);
  const { ask, fleet } = await startReplayBench({
    models: [
      modelOn([
        targetAt(provider.url, HEADER),
        targetAt(provider.url, { ...HEADER, upstream: 'second' }),
      ]),
      modelOn([targetAt(provider.url)], { id: 'vendor/other' }),
    ],
  });
  provider.state.refusesNext = 1;
  const first = await ask({ idempotencyKey: null });
  expect(first.status).toBe(200);
  await ask({ idempotencyKey: null, prompt: 'else' });
  await ask({ idempotencyKey: null, model: 'vendor/other' });
  const keys = provider.calls.map(({ headers }) => headers['idempotency-key']);
  expect(keys[0]).toMatch(new RegExp(`^${first.headers['x-request-id']}-[0-9a-f]{16}$`));
  expect(keys[1]).toBe(keys[0]);
  expect(keys[2]).not.toBe(keys[0]);
  expect(keys[3]).toBeUndefined();
  expect(await fleet.charged()).toBe(3);
});
