import { GetCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { MeterStore } from '../../../../lambdas/stores/meter-store.ts';
import { StoreUnavailable } from '../../../../lambdas/stores/store-unavailable.ts';
import { PARTITION_KEY } from '../../../../lambdas/tables.ts';
import {
  createUnreachableClient,
  startDynamo,
  storesOn,
  TABLE_NAMES,
  type TestDynamo,
} from '../../../support/dynamo.ts';

const START = Date.parse('2026-11-21T11:30:00Z');
const DAY = 86_400_000;

describe("a meter's item", () => {
  let dynamo: TestDynamo;
  let store: MeterStore;
  beforeAll(async () => {
    dynamo = await startDynamo();
    store = storesOn(dynamo.client).meters;
  });
  afterAll(() => dynamo.close());

  const itemOf = async (meterId: string): Promise<Record<string, unknown>> => {
    const key = { [PARTITION_KEY]: meterId };
    const command = new GetCommand({
      TableName: TABLE_NAMES.meters,
      Key: key,
      ConsistentRead: true,
    });
    return (await dynamo.sdk.send(command)).Item ?? {};
  };

  const request = (meterId: string, id: number, now: number, period: string) => ({
    meterId,
    requestId: `req_${id}`,
    keyId: 'key_a',
    minute: Math.floor(now / 60_000),
    period,
    rpm: 100,
    quota: 1_000,
    now,
  });

  test("a meter's item keeps no finished requests and no past minutes, so it does not grow with use", async () => {
    for (let n = 0; n < 30; n += 1) {
      const r = request('m1', n, START + n * 60_000, '2026-11');
      await store.reserve(r);
      if (n % 3 === 0) await store.refund(r);
      else await store.commit(r);
      await store.close(r);
    }
    const item = await itemOf('m1');
    expect(item).toMatchObject({ 'q2026-11': 20 });
    expect(Object.keys(item).filter((name) => /^[ocx]/.test(name))).toEqual([]);
    expect(Object.keys(item).filter((name) => name.startsWith('r')).length).toBeLessThan(9);
    expect(JSON.stringify(item).length).toBeLessThan(300);
  });

  test("a meter's item does not grow when every request fails", async () => {
    for (let n = 0; n < 30; n += 1) {
      const r = request('m4', n, START + n * 60_000, '2026-11');
      await store.reserve(r);
      await store.refund(r);
      await store.close(r);
    }
    const item = await itemOf('m4');
    expect(item).toMatchObject({ 'q2026-11': 0 });
    expect(Object.keys(item).filter((name) => /^[ocx]/.test(name))).toEqual([]);
    expect(Object.keys(item).filter((name) => name.startsWith('r')).length).toBeLessThan(9);
  });

  test('a copy of a reservation that arrives after its close is refunded 17 minutes later', async () => {
    const r = request('m5', 1, START, '2026-11');
    await store.reserve(r);
    await store.commit(r);
    await store.close(r);
    await store.reserve(r);
    expect(await itemOf('m5')).toMatchObject({ 'q2026-11': 2 });
    expect(await store.reap('m5', START + 17 * 60_000)).toBe(1);
    expect(await itemOf('m5')).toMatchObject({ 'q2026-11': 1 });
  });

  test("an hour's counter is removed only after every request of that hour has finished", async () => {
    const inTheHour = request('m2', 1, Date.parse('2026-11-21T11:59:59Z'), '2026-11-21T11');
    await store.reserve(inTheHour);
    await store.commit(inTheHour);
    const next = async (id: number, time: string) => {
      const r = request('m2', id, Date.parse(time), '2026-11-21T12');
      await store.reserve(r);
      await store.close(r);
      return Object.keys(await itemOf('m2')).filter((name) => name.startsWith('q'));
    };
    expect(await next(2, '2026-11-21T12:19:00Z')).toHaveLength(2);
    expect(await next(3, '2026-11-21T12:21:00Z')).toHaveLength(2);
    await store.close(inTheHour);
    expect(await next(4, '2026-11-21T12:22:00Z')).toEqual(['q2026-11-21T12']);
  });

  test.each(['endKey', 'revokeKey'] as const)(
    "a key's end and last use are removed 30 days later (%s)",
    async (verb) => {
      const meterId = `m3_${verb}`;
      await store.reserve(request(meterId, 1, START, '2026-11'));
      await store[verb](meterId, 'key_a', START);
      await store.reap(meterId, START + 30 * DAY);
      expect(await itemOf(meterId)).toMatchObject({ ukey_a: expect.anything(), lkey_a: START });
      await store.reap(meterId, START + 30 * DAY + 1);
      expect(await itemOf(meterId)).not.toHaveProperty('ukey_a');
      expect(await itemOf(meterId)).not.toHaveProperty('lkey_a');
    },
  );

  test('a meter keeps the ends of the four keys that ended last, and all of the last day', async () => {
    const endsIn = async () =>
      Object.keys(await itemOf('m4')).filter((name) => name.startsWith('u'));
    for (let key = 0; key < 6; key += 1) await store.revokeKey('m4', `k${key}`, START + key);
    await store.reap('m4', START + DAY);
    expect(await endsIn()).toHaveLength(6);
    await store.reap('m4', START + DAY + 10);
    expect((await endsIn()).toSorted()).toEqual(['uk2', 'uk3', 'uk4', 'uk5']);
  });

  test('a revocation without a date, as version 0.1.0 wrote it, is kept', async () => {
    await store.endKey('m5', 'key_a', 0);
    await store.reap('m5', START);
    expect(await store.reserve(request('m5', 1, START, '2026-11'))).toMatchObject({
      outcome: 'key-ended',
    });
  });
});

test('every verb throws StoreUnavailable when the server is unreachable', async () => {
  const store = storesOn(createUnreachableClient()).meters;
  const unit = { meterId: 'm', requestId: 'req_1', minute: 1, period: '2026-11' };
  const reservation = { ...unit, keyId: 'k', rpm: 1, quota: 1, now: 60_000 };
  const verbs = [
    store.reserve(reservation),
    store.commit(unit),
    store.refund(unit),
    store.reap('m', 0),
    store.readUsage(reservation),
    store.endKey('m', 'k', START),
    store.revokeKey('m', 'k', START),
    store.admitFree('m', 1, 1),
  ];
  for (const result of await Promise.allSettled(verbs)) {
    expect(result).toMatchObject({ status: 'rejected', reason: expect.any(StoreUnavailable) });
  }
});
