import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OVERLAPS_MS } from '../../../lambdas/admin/input.ts';
import { createAuthenticate } from '../../../lambdas/keys/authenticate.ts';
import { createKeyLifecycle } from '../../../lambdas/keys/lifecycle.ts';
import { createMeter } from '../../../lambdas/metering/meter.ts';
import { StoreUnavailable } from '../../../lambdas/stores/store-unavailable.ts';
import { createLog } from '../../../lambdas/support/log.ts';
import { createUnreachableClient, storesOn } from '../../support/dynamo.ts';
import { errorOf } from '../../support/error-of.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { type MemoryTables, startMemory } from '../../support/memory-stores.ts';

const NOW = Date.parse('2026-11-21T11:30:00Z');
const HOUR = 3_600_000;

let tables: MemoryTables;
beforeAll(async () => {
  tables = await startMemory();
  await storesOn(tables.client).plans.putPlan({ id: 'p', rpm: 100, quota: 3, period: 'month' });
});
afterAll(() => tables.close());

let counter = 0;
const setUp = async () => {
  counter += 1;
  const projectId = `prj_${counter}`;
  const clock = createManualClock(NOW);
  const { keys, plans, meters } = storesOn(tables.client);
  const lifecycle = createKeyLifecycle({ keys, meters, clock, randomBytes });
  const authenticate = createAuthenticate({ keys, plans, clock });
  const meter = createMeter({ store: meters, clock, log: createLog(() => undefined) });
  const old = await lifecycle.create({ projectId, planId: 'p', name: 'agent' });
  /** A generation's way in: the cached key first, then the meter. */
  const generate = async (key: string) => {
    counter += 1;
    const { caller } = await authenticate({ 'x-api-key': key });
    return meter.admit(caller, `req_${counter}`);
  };
  const oldRef = { projectId, keyId: old.record.keyId };
  return { projectId, clock, keys, lifecycle, authenticate, meter, old, oldRef, generate };
};

describe('a created key', () => {
  test('a created key is listed in its project without its secret', async () => {
    const { lifecycle, old, projectId } = await setUp();
    const listed = await lifecycle.list(projectId);
    expect(listed).toEqual([old.record]);
    expect(JSON.stringify(listed)).not.toContain(old.key);
    expect(await lifecycle.list('another')).toEqual([]);
  });

  test('a created key works at once', async () => {
    const { old, generate } = await setUp();
    expect((await generate(old.key)).limits.quota).toMatchObject({ limit: 3, remaining: 2 });
  });
});

describe('a key with an expiry', () => {
  test('an expired key is denied by the meter, although it was authenticated before', async () => {
    const { lifecycle, authenticate, meter, clock, projectId } = await setUp();
    const made = await lifecycle.create({ projectId, planId: 'p', expiresAt: NOW + HOUR });
    const { caller } = await authenticate({ 'x-api-key': made.key });
    clock.set(NOW + HOUR - 1);
    await meter.admit(caller, 'req_in_time');
    clock.set(NOW + HOUR);
    expect(await errorOf(() => meter.admit(caller, 'req_late'))).toMatchObject({ status: 401 });
  });

  test('a successor with an expiry ends alone, not with the key that it replaced', async () => {
    const { lifecycle, authenticate, meter, clock, oldRef, old } = await setUp();
    const ends = { overlapMs: 7 * 24 * HOUR, expiresAt: NOW + HOUR } as const;
    const successor = await lifecycle.rotate({ ...oldRef, ...ends });
    const identities = await Promise.all(
      [successor?.key ?? '', old.key].map((key) => authenticate({ 'x-api-key': key })),
    );
    clock.set(NOW + HOUR);
    const admissions = identities.map(({ caller }, n) =>
      meter.admit(caller, `req_${caller.keyId}_${n}`),
    );
    const results = await Promise.allSettled(admissions);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
  });

  test('a key with an expiry is not created while the meters table is unavailable', async () => {
    const { keys, clock, projectId } = await setUp();
    const { meters } = storesOn(createUnreachableClient());
    const lifecycle = createKeyLifecycle({ keys, meters, clock, randomBytes });
    const before = await lifecycle.list(projectId);
    const made = lifecycle.create({ projectId, planId: 'p', expiresAt: NOW + HOUR });
    await expect(made).rejects.toThrow(StoreUnavailable);
    expect(await lifecycle.list(projectId)).toEqual(before);
  });
});

describe('a revoked key', () => {
  test('a revoked key gets 401 from the next generation on, although it is cached', async () => {
    const { lifecycle, old, oldRef, generate } = await setUp();
    await generate(old.key);
    expect(await lifecycle.revoke(oldRef)).toMatchObject(oldRef);
    expect(await errorOf(() => generate(old.key))).toMatchObject({ status: 401 });
    expect(await lifecycle.revoke(oldRef)).toMatchObject(oldRef);
  });

  test('a revoked key cannot be rotated', async () => {
    const { lifecycle, oldRef } = await setUp();
    await lifecycle.revoke(oldRef);
    expect(await lifecycle.rotate({ ...oldRef, overlapMs: 24 * HOUR })).toBeUndefined();
  });

  test('revoking a key of another project finds none', async () => {
    const { lifecycle, old, oldRef, generate } = await setUp();
    expect(await lifecycle.revoke({ ...oldRef, projectId: 'another' })).toBeUndefined();
    await generate(old.key);
  });
});

describe('a rotated key', () => {
  test.each([
    ['none', 0],
    ['1h', HOUR],
    ['24h', 24 * HOUR],
    ['7d', 7 * 24 * HOUR],
  ] as const)('a key rotated with overlap "%s" works for another %i ms', async (overlap, ms) => {
    const { lifecycle, clock, old, oldRef, generate } = await setUp();
    const successor = await lifecycle.rotate({ ...oldRef, overlapMs: OVERLAPS_MS[overlap] });
    expect(successor).toMatchObject({ isOldKeyEnded: true });
    clock.set(NOW + ms - 1);
    if (ms > 0) await generate(old.key);
    clock.set(NOW + ms);
    expect(await errorOf(() => generate(old.key))).toMatchObject({ status: 401 });
    await generate(successor?.key ?? '');
  });

  test('a key rotated without overlap gets 401 at once, although it is cached', async () => {
    const { lifecycle, old, oldRef, generate } = await setUp();
    await generate(old.key);
    await lifecycle.rotate({ ...oldRef, overlapMs: 0 });
    expect(await errorOf(() => generate(old.key))).toMatchObject({ status: 401 });
  });

  test('a rotated key shares its counters with its successor', async () => {
    const { lifecycle, old, oldRef, generate } = await setUp();
    await generate(old.key);
    const successor = await lifecycle.rotate({ ...oldRef, overlapMs: HOUR });
    await generate(successor?.key ?? '');
    const last = await generate(old.key);
    expect(last.limits.quota.remaining).toBe(0);
    expect(await errorOf(() => generate(successor?.key ?? ''))).toMatchObject({ status: 429 });
    await last.refund();
    await generate(successor?.key ?? '');
  });

  test('a rotated key is listed with its successor, which keeps its name', async () => {
    const { lifecycle, oldRef, projectId } = await setUp();
    const successor = await lifecycle.rotate({ ...oldRef, overlapMs: HOUR });
    const listed = await lifecycle.list(projectId);
    expect(listed).toHaveLength(2);
    expect(listed.map(({ name }) => name)).toEqual(['agent', 'agent']);
    expect(listed.find(({ keyId }) => keyId === oldRef.keyId)).toMatchObject({
      replacedBy: successor?.record.keyId,
      expiresAt: NOW + HOUR,
    });
  });

  test('a rotated key outlives neither its expiry nor the end set by an earlier rotation', async () => {
    const { lifecycle, oldRef, projectId } = await setUp();
    const endOfOld = async () =>
      (await lifecycle.list(projectId)).find(({ keyId }) => keyId === oldRef.keyId)?.expiresAt;
    await lifecycle.rotate({ ...oldRef, overlapMs: HOUR });
    await lifecycle.rotate({ ...oldRef, overlapMs: 7 * 24 * HOUR });
    expect(await endOfOld()).toBe(NOW + HOUR);
    await lifecycle.rotate({ ...oldRef, overlapMs: 0 });
    expect(await endOfOld()).toBe(NOW);
    expect(await lifecycle.rotate({ ...oldRef, overlapMs: 0 })).toBeUndefined();
  });

  test('a rotation returns the successor even if the meters table fails halfway', async () => {
    const { keys, clock, oldRef, generate } = await setUp();
    const { meters } = storesOn(createUnreachableClient());
    const lifecycle = createKeyLifecycle({ keys, meters, clock, randomBytes });
    const successor = await lifecycle.rotate({ ...oldRef, overlapMs: HOUR });
    expect(successor).toMatchObject({ isOldKeyEnded: false });
    await generate(successor?.key ?? '');
  });
});
