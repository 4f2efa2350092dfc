import { randomBytes } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { createBucket } from '../../lambdas/aws/bucket.ts';
import { openDynamoResponses } from '../../lambdas/stores/dynamo/stores.ts';
import { createBucketBodies } from '../../lambdas/stores/s3/body-store.ts';
import { systemClock } from '../../lambdas/support/clock.ts';
import { TABLE_NAMES } from '../support/dynamo.ts';
import { startEmbeddedDynamo } from '../support/embedded-dynamo.ts';
import { createLocalDynamoClient } from '../support/local-aws.ts';
import { BUCKET_SECRET, startStrictBucket } from '../support/strict-bucket.ts';

test('bodies and pieces above the size of an item are in the bucket, and deleted with their response', async () => {
  const [s3, dynamo] = await Promise.all([startStrictBucket(), startEmbeddedDynamo()]);
  const bucket = createBucket({
    ...{ region: 'eu-west-1', endpoint: s3.url, bucketName: 'answers-abc', clock: systemClock },
    credentials: async () => ({ accessKeyId: 'AKID', secretAccessKey: BUCKET_SECRET }),
    timeouts: { connectMs: 30_000, requestMs: 30_000 },
  });
  const client = createLocalDynamoClient(dynamo.endpoint, 30_000);
  onTestFinished(async () => {
    bucket.destroy();
    client.destroy();
    await Promise.all([s3.close(), dynamo.close()]);
  });
  const store = await openDynamoResponses({
    ...{ client, tableNames: TABLE_NAMES, bodies: createBucketBodies(bucket) },
  })?.();
  if (!store) throw new Error('There is no store.');
  const [input, response, piece] = [500_000, 500_001, 500_002].map((size) => randomBytes(size));
  if (!input || !response || !piece) throw new Error('There are no bodies.');
  const key = { key: 'R-one', expiresAt: 10_000 };
  const state = {
    leaseUntil: 5_000,
    hasBegun: false,
    isBackground: true,
    isStream: true,
    pieces: 0,
  };
  expect(await store.create(key, { ...state, before: [], input, response })).toBe(true);
  expect(await store.renew(key.key, { leaseUntil: 6_000, pieces: 1 })).toBe(true);
  await store.putPiece(key, 0, piece);
  expect(await store.end(key, response, { now: 0 })).toBe(true);
  expect(await store.find(key.key, 9_999)).toEqual({
    ...{ ...state, hasBegun: true, leaseUntil: undefined, pieces: 1, before: [], endedAt: 0 },
    ...{ input: expect.anything(), response: expect.anything() },
  });
  const found = await store.find(key.key, 9_999);
  expect(Buffer.compare(found?.input ?? Buffer.of(), input)).toBe(0);
  expect(Buffer.compare(found?.response ?? Buffer.of(), response)).toBe(0);
  expect(Buffer.compare((await store.findPiece(key.key, 0)) ?? Buffer.of(), piece)).toBe(0);
  expect(await store.find(key.key, 10_000)).toBeUndefined();
  expect(s3.objects.size).toBe(3);
  expect([...s3.objects.keys()].every((name) => name.includes('/responses/R-one/'))).toBe(true);
  expect(await store.remove(key.key)).toBe(true);
  expect(s3.objects.size).toBe(0);
  // What its process writes later.
  await store.putPiece(key, 0, piece);
  expect(await store.end(key, response, { now: 0 })).toBe(false);
  expect(await store.create(key, { ...state, before: [], input: Buffer.of(1), response })).toBe(
    false,
  );
  expect(await store.findPiece(key.key, 0)).toBeUndefined();
  expect(await store.find(key.key, 1)).toBeUndefined();
  expect(await store.remove(key.key)).toBe(false);
  expect([...s3.objects.keys()]).toEqual([]);
});
