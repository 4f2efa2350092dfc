import { GetCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DynamoClient, DynamoError } from '../../../../lambdas/stores/dynamo/dynamo-client.ts';
import { SHARDING } from '../../../../lambdas/stores/dynamo/meter-shards.ts';
import { createDynamoMeterStore } from '../../../../lambdas/stores/dynamo/meter-store.ts';
import type { MeterStore } from '../../../../lambdas/stores/meter-store.ts';
import { StoreThrottled, StoreUnavailable } from '../../../../lambdas/stores/store-unavailable.ts';
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
const THROTTLED = { status: 400, item: undefined, cause: undefined };

/** As DynamoDB counts it: names and values; a number takes a byte for two digits, and one more. */
const sizeOf = (item: Record<string, unknown>): number =>
  Object.entries(item).reduce((sum, [name, value]) => {
    const text = String(value);
    return (
      sum + name.length + (typeof value === 'number' ? Math.ceil(text.length / 2) + 1 : text.length)
    );
  }, 0);

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
      else await store.charge(r);
    }
    const item = await itemOf('m1');
    expect(item).toMatchObject({ 'q2026-11': 20 });
    expect(Object.keys(item).filter((name) => name.startsWith('m'))).toEqual([]);
    expect(Object.keys(item).filter((name) => name.startsWith('r')).length).toBeLessThan(9);
    expect(JSON.stringify(item).length).toBeLessThan(300);
  });

  test("a meter's item does not grow when every request fails", async () => {
    for (let n = 0; n < 30; n += 1) {
      const r = request('m4', n, START + n * 60_000, '2026-11');
      await store.reserve(r);
      await store.refund(r);
    }
    const item = await itemOf('m4');
    expect(item).toMatchObject({ 'q2026-11': 0 });
    expect(Object.keys(item).filter((name) => name.startsWith('m'))).toEqual([]);
    expect(Object.keys(item).filter((name) => name.startsWith('r')).length).toBeLessThan(9);
  });

  test('a copy of a reservation that arrives after its charge is refunded 17 minutes later', async () => {
    const r = request('m5', 1, START, '2026-11');
    await store.reserve(r);
    await store.charge(r);
    await store.reserve(r);
    expect(await itemOf('m5')).toMatchObject({ 'q2026-11': 2 });
    expect(await store.reap('m5', START + 17 * 60_000)).toBe(1);
    expect(await itemOf('m5')).toMatchObject({ 'q2026-11': 1 });
  });

  test('a request whose meter is throttled before a shard is tried leaves no tombstone', async () => {
    let isThrottled = true;
    const throttling: DynamoClient = {
      ...dynamo.client,
      call: (operation, input) =>
        isThrottled && operation === 'UpdateItem'
          ? Promise.reject(new DynamoError('ThrottlingException', THROTTLED))
          : dynamo.client.call(operation, input),
    };
    const sharding = { ...SHARDING, throttledToSpread: 1 };
    const tableName = TABLE_NAMES.meters;
    const spreading = createDynamoMeterStore({ client: throttling, tableName, sharding });
    // The first is throttled at the meter's item, the second where it would shard the meter.
    for (const id of [1, 2]) {
      const one = request('m7', id, START, '2026-11');
      isThrottled = true;
      await expect(spreading.reserve(one)).rejects.toThrow(StoreThrottled);
      isThrottled = false;
      await spreading.refund(one);
    }
    expect(await itemOf('m7')).toEqual({});
  });

  test('in a new minute all shards of a meter get their units by one write of its first item', async () => {
    const written: unknown[] = [];
    const counting: DynamoClient = {
      ...dynamo.client,
      call: (operation, input) => {
        if (operation === 'UpdateItem' && 'Key' in input) written.push(input.Key[PARTITION_KEY]);
        return dynamo.client.call(operation, input);
      },
    };
    const sharding = { ...SHARDING, marksPerItem: 1, maxShards: SHARDING.minShards };
    const sharded = createDynamoMeterStore({
      client: counting,
      tableName: TABLE_NAMES.meters,
      sharding,
    });
    const serveTwenty = async (minute: number) => {
      for (let n = 0; n < 20; n += 1) {
        const one = request('m8', 20 * minute + n, START + minute * 60_000, '2026-11');
        expect(await sharded.reserve(one)).toMatchObject({ outcome: 'admitted' });
        await sharded.charge(one);
      }
    };
    await Promise.all(
      [1, 2].map((id) => sharded.reserve(request('m8', 900 + id, START, '2026-11'))),
    );
    await serveTwenty(1);
    written.length = 0;
    await serveTwenty(2);
    expect(written.filter((key) => key === 'm8')).toHaveLength(1);
  });

  test('a repeat of a closed minute is too late on a sharded meter', async () => {
    const sharding = { ...SHARDING, marksPerItem: 1 };
    const tableName = TABLE_NAMES.meters;
    const sharded = createDynamoMeterStore({ client: dynamo.client, tableName, sharding });
    await Promise.all(
      [1, 2].map((id) => sharded.reserve(request('m9', 900 + id, START, '2026-11'))),
    );
    for (let minute = 1; minute <= 20; minute += 1) {
      const one = request('m9', minute, START + minute * 60_000, '2026-11');
      await sharded.reserve(one);
      await sharded.charge(one);
    }
    for (let n = 0; n < 8; n += 1) {
      const late = request('m9', 100 + n, START + 12 * 60_000, '2026-11');
      const repeat = { ...late, isRepeat: true };
      expect(await sharded.reserve(repeat)).toMatchObject({ outcome: 'too-late' });
    }
  });

  test('60 requests in flight of two keys keep the item of a meter under 1 KB', async () => {
    const wide = { meterId: `mtr_${'a'.repeat(20)}`, rpm: 1e6, quota: 1e6 };
    for (let n = 0; n < 66; n += 1) {
      const requestId = `req_${String(n).padStart(24, '0')}`;
      const keyId = `key_${String(n % 2).repeat(20)}`;
      const now = START + Math.min(n, 6) * 60_000;
      const r = { ...request('', n, now, '2026-11'), ...wide, requestId, keyId };
      await store.reserve(r);
      if (n < 6) await store.charge(r);
    }
    expect(sizeOf(await itemOf(wide.meterId))).toBeLessThanOrEqual(1_024);
  });

  test('marks that version 0.1.0 left behind are refunded or removed 17 minutes later', async () => {
    const minute = Math.floor(START / 60_000);
    await dynamo.sdk.send(
      new UpdateCommand({
        TableName: TABLE_NAMES.meters,
        Key: { [PARTITION_KEY]: 'm6' },
        UpdateExpression: 'SET oreq_a = :mark, creq_b = :mark, xreq_c = :mark, #q = :two',
        ExpressionAttributeNames: { '#q': 'q2026-11' },
        ExpressionAttributeValues: { ':mark': `${minute}|2026-11`, ':two': 2 },
      }),
    );
    const later = request('m6', 1, START + 17 * 60_000, '2026-11');
    expect(await store.readUsage(later)).toMatchObject({ periodCount: 2, reservedCount: 1 });
    expect(await store.reap('m6', later.now)).toBe(1);
    expect(await itemOf('m6')).toEqual({ [PARTITION_KEY]: 'm6', 'q2026-11': 1, f: minute });
  });

  test("an hour's counter stays until it is forgotten, and is final only after every request of that hour", async () => {
    const inTheHour = request('m2', 1, Date.parse('2026-11-21T11:59:59Z'), '2026-11-21T11');
    await store.reserve(inTheHour);
    const next = async (id: number, time: string) => {
      const r = request('m2', id, Date.parse(time), '2026-11-21T12');
      await store.reserve(r);
      await store.charge(r);
      return Object.keys(await itemOf('m2')).filter((name) => name.startsWith('q'));
    };
    expect(await next(2, '2026-11-21T12:19:00Z')).toHaveLength(2);
    expect(await next(3, '2026-11-21T12:21:00Z')).toHaveLength(2);
    const now = Date.parse('2026-11-21T12:22:00Z');
    expect(await store.endedPeriods('m2', now)).toEqual([]);
    await store.charge(inTheHour);
    expect(await store.endedPeriods('m2', now)).toEqual([{ period: '2026-11-21T11', used: 1 }]);
    await store.forgetPeriods('m2', ['2026-11-21T11']);
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
    await store.endKey('m7', 'key_a', 0);
    await store.reap('m7', START);
    expect(await store.reserve(request('m7', 1, START, '2026-11'))).toMatchObject({
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
    store.charge(unit),
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
