import { expect, onTestFinished, test } from 'vitest';
import { createBucket } from '../../lambdas/aws/bucket.ts';
import { createDynamoAnswerStore } from '../../lambdas/stores/dynamo/answer-store.ts';
import { BUCKET_TIMEOUTS, createBucketBodies } from '../../lambdas/stores/s3/body-store.ts';
import { createRandom } from '../simulation/random.ts';
import { TABLE_NAMES } from '../support/dynamo.ts';
import { createLocalDynamoClient } from '../support/local-aws.ts';
import { SEED } from '../support/seeds.ts';
import { BUCKET_SECRET, type BucketTrouble, startStrictBucket } from '../support/strict-bucket.ts';
import { type ReplayBench, startReplayBench } from './replay-bench.ts';

const LENGTH = 450_000;

const random = createRandom(SEED);
/** Text that no compression brings below the size of an item. */
const INCOMPRESSIBLE = Buffer.from(Array.from({ length: LENGTH }, () => 48 + random.between(0, 63)))
  .toString('latin1')
  .replaceAll('\\', '/');

/** Routers whose large responses go to a strict S3. */
const startWithBucket = async () => {
  const s3 = await startStrictBucket();
  const bench: ReplayBench = await startReplayBench({
    answersAt: (endpoint) => {
      const bucket = createBucket({
        region: 'eu-west-1',
        credentials: async () => ({ accessKeyId: 'AKID', secretAccessKey: BUCKET_SECRET }),
        endpoint: s3.url,
        bucketName: 'answers-abc',
        clock: { now: Date.now, after: (ms, action) => bench.clock.after(ms, action) },
        timeouts: BUCKET_TIMEOUTS,
      });
      onTestFinished(bucket.destroy);
      return createDynamoAnswerStore({
        client: createLocalDynamoClient(endpoint, 30_000),
        tableName: TABLE_NAMES.answers,
        bodies: createBucketBodies(bucket),
      });
    },
  });
  onTestFinished(s3.close);
  bench.upstream.state.filler = INCOMPRESSIBLE;
  return { ...bench, s3 };
};

test.each([
  { family: 'chat', stream: true },
  { family: 'messages', stream: false },
  { family: 'responses', stream: true },
] as const)(
  'a response above the size of an item is kept in the bucket and repeated from any process: $family, streamed $stream',
  async (shape) => {
    const { ask, fleet, s3, upstream } = await startWithBucket();
    const first = await ask(shape);
    expect(first.text.length).toBeGreaterThan(LENGTH);
    expect(s3.objects.size).toBe(1);
    for (const router of [0, 1]) {
      const again = await ask({ ...shape, router });
      expect([again.status, again.text === first.text]).toEqual([200, true]);
      expect(again.headers['idempotent-replayed']).toBe('true');
    }
    expect([upstream.calls.length, await fleet.charged()]).toEqual([1, 1]);
  },
);

test('Last-Event-ID continues a stream that is kept in the bucket', async () => {
  const { ask, s3 } = await startWithBucket();
  const { text } = await ask();
  const ids = [...text.matchAll(/^id: (\S+)$/gm)].map(([, id = '']) => id);
  const id = ids.at(4) ?? '';
  const rest = text.slice(text.indexOf('\n\n', text.indexOf(`id: ${id}\n`)) + 2);
  const resumed = await ask({ router: 1, headers: { 'last-event-id': id } });
  expect([s3.objects.size, resumed.text === rest]).toEqual([1, true]);
});

test.each<{ trouble: BucketTrouble; stream: boolean }>([
  { trouble: 'silence', stream: true },
  { trouble: 'slow down', stream: false },
  { trouble: 'reset', stream: true },
  { trouble: 'denied', stream: false },
])(
  'a bucket that fails delays a response by 3 s at most, which then states that it is not stored: $trouble, streamed $stream',
  async ({ trouble, stream }) => {
    const { ask, clock, fleet, s3, upstream } = await startWithBucket();
    s3.decide(() => trouble);
    const asked = ask({ stream });
    if (trouble === 'silence') {
      await expect.poll(() => s3.requests.length).toBe(1);
      clock.advance(1_500);
      await expect.poll(() => s3.requests.length).toBe(2);
      clock.advance(1_500);
    }
    const { status, text, headers } = await asked;
    expect([status, text.includes(' only')]).toEqual([200, true]);
    if (stream) expect(text).toMatch(/^: idempotent-stored: false$/m);
    else expect(headers['idempotent-stored']).toBe('false');
    s3.decide(() => 'none');
    const again = await ask({ stream, router: 1 });
    expect(again.headers['idempotent-replayed']).toBeUndefined();
    expect([again.status, upstream.calls.length, await fleet.charged()]).toEqual([200, 2, 2]);
  },
);

test('a kept response that cannot be read from the bucket is a 503 and not a second unit', async () => {
  const { ask, fleet, s3, upstream } = await startWithBucket();
  const first = await ask();
  s3.decide(({ method }) => (method === 'GET' ? 'slow down' : 'none'));
  for (const router of [0, 1]) {
    const { status, headers, text } = await ask({ router });
    expect([status, headers['retry-after']]).toEqual([503, '1']);
    expect(text).toContain('cannot be read at the moment');
  }
  s3.decide(() => 'none');
  expect((await ask({ router: 1 })).text).toBe(first.text);
  expect([upstream.calls.length, await fleet.charged()]).toEqual([1, 1]);
});

test('a response whose object was deleted by hand is generated again', async () => {
  const { ask, fleet, s3 } = await startWithBucket();
  await ask();
  s3.objects.clear();
  const again = await ask({ router: 1 });
  expect([again.status, again.headers['idempotent-replayed']]).toEqual([200, undefined]);
  expect(await fleet.charged()).toBe(2);
  expect((await ask()).text).toBe(again.text);
});

const DAMAGES: [name: string, damage: (body: Buffer) => Buffer][] = [
  [
    'with one changed bit',
    (body) =>
      body.fill((body[body.length >> 1] ?? 0) ^ 1, body.length >> 1, (body.length >> 1) + 1),
  ],
  ['without its end', (body) => body.subarray(0, -1)],
  ['that is JSON', () => Buffer.from('{"status":"ok"}')],
  ['without a byte', () => Buffer.alloc(0)],
];

test.each(DAMAGES)(
  'a kept response whose object is one %s is a 503 with a reason, and the next repeat runs',
  async (_, damage) => {
    const { ask, fleet, s3, upstream } = await startWithBucket();
    await ask();
    for (const [name, body] of s3.objects) s3.objects.set(name, damage(Buffer.from(body)));
    const { status, headers, text } = await ask({ router: 1 });
    expect([status, headers['retry-after']]).toEqual([503, '1']);
    expect(text).toContain('The kept response cannot be read');
    const again = await ask({ router: 1 });
    expect([again.status, again.headers['idempotent-replayed']]).toEqual([200, undefined]);
    expect([upstream.calls.length, await fleet.charged()]).toEqual([2, 2]);
    expect((await ask()).text).toBe(again.text);
  },
);
