import dns from 'node:dns';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createBucket } from '../../../lambdas/aws/bucket.ts';
import { createSigner } from '../../../lambdas/aws/sign.ts';
import { createBucketBodies } from '../../../lambdas/stores/s3/body-store.ts';
import { StoreUnavailable } from '../../../lambdas/stores/store-unavailable.ts';
import { rejection } from '../../support/error-of.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import {
  BUCKET_SECRET,
  type BucketTrouble,
  startStrictBucket,
} from '../../support/strict-bucket.ts';

const NOW = Date.parse('2026-11-22T06:00:00Z');
const BYTES = Uint8Array.from({ length: 70_000 }, (_, n) => (n * 7) % 256);
const NAME = `${'a1'.repeat(32)}/req_0Az`;

const setUp = async ({ ahead = 0, host = '127.0.0.1' } = {}) => {
  const clock = createManualClock(NOW);
  const s3 = await startStrictBucket({ now: () => clock.now() + ahead });
  const bucket = createBucket({
    region: 'eu-west-1',
    credentials: async () => ({ accessKeyId: 'AKID', secretAccessKey: BUCKET_SECRET }),
    endpoint: `http://${host}:${new URL(s3.url).port}`,
    bucketName: 'answers-abc',
    clock,
    timeouts: { connectMs: 300, requestMs: 1_000 },
  });
  onTestFinished(async () => {
    bucket.destroy();
    await s3.close();
  });
  return { s3, clock, bucket, bodies: createBucketBodies(bucket) };
};

test('an object is stored and read with a signature and a digest that S3 accepts, byte for byte', async () => {
  const { bucket, s3 } = await setUp();
  await bucket.put(NAME, BYTES);
  expect([...s3.objects.keys()]).toEqual([`/answers-abc/${NAME}`]);
  expect(Buffer.from((await bucket.get(NAME)) ?? [])).toEqual(Buffer.from(BYTES));
  expect(await bucket.get('a1/other')).toBeUndefined();
});

test('the bucket is part of the host, as AWS requires, unless the host is an IP address', async () => {
  const lookup = vi.spyOn(dns, 'lookup').mockImplementation(((...parameters: unknown[]) => {
    const done = parameters.at(-1) as (error: null, addresses: object[]) => void;
    done(null, [{ address: '127.0.0.1', family: 4 }]);
  }) as typeof dns.lookup);
  onTestFinished(() => lookup.mockRestore());
  const { bucket, s3 } = await setUp({ host: 's3.eu-west-1.amazonaws.com' });
  await bucket.put(NAME, BYTES);
  const host = 'answers-abc.s3.eu-west-1.amazonaws.com';
  expect(lookup.mock.lastCall?.[0]).toBe(host);
  expect(s3.requests).toEqual([
    {
      method: 'PUT',
      host: `${host}:${new URL(s3.url).port}`,
      path: `/${NAME}`,
    },
  ]);
});

test('a signature of S3 is the one that AWS published for its example', async () => {
  // https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html, "GET Object"
  const sign = createSigner('s3', {
    region: 'us-east-1',
    credentials: async () => ({
      accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
      secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
    }),
  });
  const headers = {
    range: 'bytes=0-9',
    'x-amz-content-sha256': 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  };
  const url = new URL('https://examplebucket.s3.amazonaws.com/test.txt');
  const request = { method: 'GET', url, headers, body: '' };
  const signed = await sign(request, Date.parse('2013-05-24T00:00:00Z'));
  expect(signed.authorization).toContain(
    'Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  );
});

test('a request that S3 rejects for its time is repeated once with the time of AWS', async () => {
  const { bucket, s3 } = await setUp({ ahead: 20 * 60_000 });
  await bucket.put(NAME, BYTES);
  expect(s3.requests).toHaveLength(2);
  await bucket.get(NAME);
  expect(s3.requests).toHaveLength(3);
});

test('an error of S3 has its code as its name, and its text stays private', async () => {
  const { bucket, s3 } = await setUp();
  s3.decide(() => 'denied');
  const error = await rejection<Error>(bucket.put(NAME, BYTES));
  expect(error).toMatchObject({ name: 'AccessDenied', status: 403 });
  expect(JSON.stringify([error.message, error])).not.toContain('canary');
});

test.each<[BucketTrouble, number]>([
  ['slow down', 2],
  ['reset', 2],
  ['lost answer', 2],
  ['denied', 1],
])('a body is tried again once only if it may help: %s, %s requests', async (trouble, count) => {
  const { bodies, s3 } = await setUp();
  s3.decide(() => trouble);
  const error = await rejection(bodies.put(NAME, BYTES));
  expect(error).toBeInstanceOf(StoreUnavailable);
  expect(s3.requests).toHaveLength(count);
  s3.decide(() => (s3.requests.length === count + 1 && count === 2 ? trouble : 'none'));
  await bodies.put(NAME, BYTES);
  expect(Buffer.from((await bodies.get(NAME)) ?? [])).toEqual(Buffer.from(BYTES));
});

test('a bucket that does not respond fails a body after two timeouts and leaves no connection', async () => {
  const { bodies, s3, clock } = await setUp();
  s3.decide(() => 'silence');
  const failure = rejection(bodies.get(NAME));
  for (const count of [1, 2]) {
    await expect.poll(() => s3.requests.length).toBe(count);
    clock.advance(1_000);
  }
  expect(await failure).toBeInstanceOf(StoreUnavailable);
});
