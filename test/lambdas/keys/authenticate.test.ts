import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { mintKey } from '../../../lambdas/keys/api-key.ts';
import { confirmedCaller, createAuthenticate } from '../../../lambdas/keys/authenticate.ts';
import { createKeyLifecycle } from '../../../lambdas/keys/lifecycle.ts';
import type { NewKey } from '../../../lambdas/keys/store-key.ts';
import type { Plan } from '../../../lambdas/stores/plan-store.ts';
import { createUnreachableClient, storesOn } from '../../support/dynamo.ts';
import { errorOf } from '../../support/error-of.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { type MemoryTables, startMemory } from '../../support/memory-stores.ts';

const NOW = Date.parse('2026-11-21T11:30:00Z');
const PLAN: Plan = { id: 'team', rpm: 60, quota: 1_000, period: 'month' };

let tables: MemoryTables;
beforeAll(async () => {
  tables = await startMemory();
  await storesOn(tables.client).plans.putPlan(PLAN);
});
afterAll(() => tables.close());

/** One environment over the real tables, whose reads are counted and whose way to them can be cut. */
const setUp = () => {
  const clock = createManualClock(NOW);
  const reachable = storesOn(tables.client);
  const unreachable = storesOn(createUnreachableClient());
  const reads: string[] = [];
  const lines: string[] = [];
  let stores = reachable;
  const authenticate = createAuthenticate({
    keys: {
      findKey: (hash) => {
        reads.push('key');
        return stores.keys.findKey(hash);
      },
    },
    plans: {
      findPlan: (id) => {
        reads.push('plan');
        return stores.plans.findPlan(id);
      },
    },
    clock,
    log: { warn: (event) => lines.push(event) },
  });
  const lifecycle = createKeyLifecycle({
    keys: reachable.keys,
    meters: reachable.meters,
    clock,
    randomBytes,
  });
  const identify = (key: string) => authenticate({ authorization: `Bearer ${key}` });
  const create = (over: Partial<NewKey> = {}) =>
    lifecycle.create({ projectId: 'prj', planId: 'team', ...over });
  return {
    clock,
    reads,
    lines,
    lifecycle,
    create,
    identify,
    call: async (key: string) => confirmedCaller(await identify(key)),
    cut: () => {
      stores = unreachable;
    },
    mend: () => {
      stores = reachable;
    },
  };
};

describe('a valid key', () => {
  test('a valid key yields its project, meter and plan', async () => {
    const { create, call } = setUp();
    const { key, record } = await create();
    expect(await call(key)).toEqual({
      keyId: record.keyId,
      projectId: 'prj',
      meterId: record.meterId,
      plan: PLAN,
    });
  });

  test('a valid key is read once in 10 s, regardless of the number of requests', async () => {
    const { create, call, reads, clock } = setUp();
    const { key } = await create();
    await Promise.all(Array.from({ length: 50 }, () => call(key)));
    clock.advance(9_999);
    await call(key);
    expect(reads).toEqual(['key', 'plan']);
    clock.advance(1);
    await call(key);
    expect(reads).toEqual(['key', 'plan', 'key', 'plan']);
  });

  test('a key that is due again is read at the same time as its plan', async () => {
    const { create, call, reads, clock } = setUp();
    const { key } = await create();
    await call(key);
    clock.advance(10_000);
    const again = call(key);
    // No read has returned yet.
    expect(reads.slice(2).toSorted()).toEqual(['key', 'plan']);
    await again;
    expect(reads).toHaveLength(4);
  });

  test('a known key is identified before it is read again, and then confirmed', async () => {
    const { create, identify, reads, clock } = setUp();
    const { key, record } = await create();
    expect(await identify(key)).toEqual({ caller: expect.anything() });
    clock.advance(3_600_000);
    const { caller, confirm } = await identify(key);
    expect(caller).toMatchObject({ keyId: record.keyId, plan: PLAN });
    expect(reads).toHaveLength(4);
    await confirm?.();
  });

  test('a key that was revoked since it was last read is not confirmed', async () => {
    const { create, identify, clock, lifecycle } = setUp();
    const { key, record } = await create();
    await identify(key);
    await lifecycle.revoke({ projectId: 'prj', keyId: record.keyId });
    clock.advance(10_000);
    const { confirm } = await identify(key);
    expect(await errorOf(async () => confirm?.())).toMatchObject({
      status: 401,
      message: 'The API key was revoked.',
    });
  });

  test('a request that ends before its key is found revoked leaves no rejection unhandled', async () => {
    const { create, identify, clock, lifecycle } = setUp();
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => void unhandled.push(reason);
    process.on('unhandledRejection', note);
    onTestFinished(() => void process.off('unhandledRejection', note));
    const { key, record } = await create();
    await identify(key);
    await lifecycle.revoke({ projectId: 'prj', keyId: record.keyId });
    clock.advance(10_000);
    await identify(key);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(unhandled).toEqual([]);
  });

  test('a key gets 401 from its expiry on, cached or not', async () => {
    const { create, call, clock } = setUp();
    const { key } = await create({ expiresAt: NOW + 1_000 });
    await call(key);
    clock.advance(1_000);
    expect(await errorOf(() => call(key))).toMatchObject({
      status: 401,
      message: 'The API key has expired.',
    });
  });

  test('a revoked key gets 401 within 10 s', async () => {
    const { create, call, clock, lifecycle } = setUp();
    const { key, record } = await create();
    await call(key);
    await lifecycle.revoke({ projectId: 'prj', keyId: record.keyId });
    clock.advance(10_000);
    expect(await errorOf(() => call(key))).toMatchObject({
      status: 401,
      message: 'The API key was revoked.',
    });
  });

  test('a revoked key that is used for days is logged once an hour', async () => {
    const { create, call, clock, lifecycle, lines } = setUp();
    const { key, record } = await create();
    await lifecycle.revoke({ projectId: 'prj', keyId: record.keyId });
    for (let n = 0; n < 6; n += 1, clock.advance(1_200_000)) await errorOf(() => call(key));
    expect(lines).toEqual(['revoked_key_used', 'revoked_key_used']);
  });

  test('a valid key whose plan is missing gets 503', async () => {
    const { create, call } = setUp();
    const { key } = await create({ planId: 'forgotten' });
    expect(await errorOf(() => call(key))).toMatchObject({
      status: 503,
      type: 'api_error',
      cause: expect.stringContaining('forgotten'),
    });
  });
});

describe('an invalid key', () => {
  test.each(['sk-foreign-0123456789', `mrk_live_${'a'.repeat(38)}`])(
    'a key of another format costs no read: %s',
    async (key) => {
      const { call, reads } = setUp();
      expect(await errorOf(() => call(key))).toMatchObject({ status: 401 });
      expect(reads).toEqual([]);
    },
  );

  test('an unknown key of the right format is read once in 5 s', async () => {
    const { call, reads, clock } = setUp();
    const invented = mintKey(randomBytes);
    expect(await errorOf(() => call(invented))).toMatchObject({ status: 401 });
    clock.advance(4_999);
    expect(await errorOf(() => call(invented))).toMatchObject({ status: 401 });
    expect(reads).toEqual(['key']);
    clock.advance(1);
    expect(await errorOf(() => call(invented))).toMatchObject({ status: 401 });
    expect(reads).toEqual(['key', 'key']);
  });

  test('1,100 unknown keys do not evict valid ones from the cache', async () => {
    const { create, call, reads } = setUp();
    const { key } = await create();
    await call(key);
    const invented = Array.from({ length: 1_100 }, () => mintKey(randomBytes));
    await Promise.allSettled(invented.map(call));
    reads.length = 0;
    await call(key);
    expect(reads).toEqual([]);
  });
});

describe('while the tables do not answer', () => {
  test('a cached key works for 10 minutes while the tables are unavailable, then gets 503', async () => {
    const { create, call, cut, clock } = setUp();
    const { key, record } = await create();
    await call(key);
    cut();
    for (const minutes of [1, 4, 4]) {
      clock.advance(minutes * 60_000);
      expect(await call(key)).toMatchObject({ keyId: record.keyId });
    }
    clock.advance(60_000);
    expect(await errorOf(() => call(key))).toMatchObject({ status: 503 });
  });

  test('unavailable tables are read only every 5 s', async () => {
    const { create, call, cut, clock, reads } = setUp();
    const { key } = await create();
    await call(key);
    cut();
    clock.advance(10_000);
    reads.length = 0;
    for (let n = 0; n < 10; n += 1) {
      await call(key);
      clock.advance(1_000);
    }
    expect(reads).toEqual(['key', 'plan', 'key', 'plan']);
  });

  test('a cached key still expires while the tables are unavailable', async () => {
    const { create, call, cut, clock } = setUp();
    const { key } = await create({ expiresAt: NOW + 20_000 });
    await call(key);
    cut();
    clock.advance(20_000);
    expect(await errorOf(() => call(key))).toMatchObject({ status: 401 });
  });

  test('an uncached key gets 503 with retry-after: 1, never 401, while the tables are unavailable', async () => {
    const { create, call, cut, mend } = setUp();
    const { key, record } = await create();
    cut();
    expect(await errorOf(() => call(key))).toMatchObject({
      status: 503,
      type: 'api_error',
      headers: { 'retry-after': '1' },
    });
    mend();
    expect(await call(key)).toMatchObject({ keyId: record.keyId });
  });
});
