import type { ServerResponse } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import type { AttributeMap } from '../../../../lambdas/stores/dynamo/client.ts';
import type { DynamoClient } from '../../../../lambdas/stores/dynamo/dynamo-client.ts';
import type { Write } from '../../../../lambdas/stores/dynamo/item-write.ts';
import { createTable, type Table } from '../../../../lambdas/stores/dynamo/table.ts';
import { StoreUnavailable } from '../../../../lambdas/stores/store-unavailable.ts';
import { listOf } from '../../../../lambdas/support/async-lists.ts';
import { systemClock } from '../../../../lambdas/support/clock.ts';
import { KEYS_BY_PROJECT } from '../../../../lambdas/tables.ts';
import { createLocalDynamoClient, LOCAL_AWS } from '../../../support/local-aws.ts';
import { startMisbehaving } from '../../../support/misbehaving-server.ts';
import { createDocumentClient, createSdkClient } from '../../../support/sdk-client.ts';
import { fc, share } from '../../../support/seeds.ts';

/** One answer of DynamoDB; without a status the connection is closed. */
type Answer = { status?: number; body?: object };

const attributes: fc.Arbitrary<AttributeMap> = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.record({ S: fc.string({ unit: 'binary' }) }),
    fc.record({ N: fc.oneof(fc.integer(), fc.double({ min: -1e9, max: 1e9 })).map(String) }),
    fc.record({ BOOL: fc.boolean() }),
    fc.constant({ NULL: true }),
    fc.record({ L: fc.array(tie('value'), { maxLength: 3 }) }),
    fc.record({ M: tie('map') }),
  ),
  map: fc.dictionary(fc.stringMatching(/^\w{1,6}$/), tie('value'), { maxKeys: 4 }),
})).map as fc.Arbitrary<AttributeMap>;

const plain = fc.dictionary(
  fc.stringMatching(/^:\w{1,3}$/),
  fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.integer(),
    fc.double({ min: -1e9, max: 1e9 }),
    fc.boolean(),
    fc.constant(null),
    fc.constant(undefined),
    fc.array(fc.string(), { maxLength: 3 }),
    fc.array(fc.oneof(fc.integer(), fc.dictionary(fc.stringMatching(/^\w{1,4}$/), fc.string()))),
  ),
  { maxKeys: 4 },
);

const errorOf = (type: string, extra: object = {}): Answer => ({
  status: type === 'InternalServerError' ? 500 : 400,
  body: { __type: `com.amazonaws.dynamodb.v20120810#${type}`, message: 'private', ...extra },
});

const answers = fc.oneof(
  { weight: 3, arbitrary: attributes.map((Item): Answer => ({ status: 200, body: { Item } })) },
  {
    weight: 3,
    arbitrary: attributes.map((Attributes): Answer => ({ status: 200, body: { Attributes } })),
  },
  fc.constant<Answer>({ status: 200, body: {} }),
  attributes.map((Item) => errorOf('ConditionalCheckFailedException', { Item })),
  fc
    .constantFrom(
      'ConditionalCheckFailedException',
      'ThrottlingException',
      'ProvisionedThroughputExceededException',
      'RequestLimitExceeded',
      'ValidationException',
      'ResourceNotFoundException',
      'ExpiredTokenException',
      'UnrecognizedClientException',
      'AccessDeniedException',
      'InternalServerError',
    )
    .map((type) => errorOf(type)),
  fc.constant<Answer>({ status: 503, body: {} }),
  fc.constant<Answer>({}),
);

const pages = fc.array(fc.record({ Items: fc.array(attributes, { maxLength: 3 }) }), {
  minLength: 1,
  maxLength: 3,
});

const reply = (response: ServerResponse, { status, body }: Answer = {}) =>
  status === undefined
    ? response.destroy()
    : response
        .writeHead(status, { 'content-type': 'application/x-amz-json-1.0' })
        .end(JSON.stringify(body));

/** A client on a DynamoDB that gives the test's answers in order, the last one again and again. */
const connect = async (createClient: (endpoint: string) => DynamoClient) => {
  let script: Answer[] = [];
  const server = await startMisbehaving((response, _, count) =>
    reply(response, script[Math.min(count, script.length) - 1]),
  );
  const client = createClient(server.url);
  onTestFinished(() => client.destroy());
  const table = createTable({ client, tableName: 'meters' });
  return async (answersInOrder: Answer[], use: (table: Table) => Promise<unknown>) => {
    script = answersInOrder;
    server.seen.length = 0;
    const outcome = await use(table).catch((error: unknown) => {
      if (!(error instanceof StoreUnavailable)) throw error;
      return { name: error.name, mayBeApplied: error.mayBeApplied };
    });
    const requests = server.seen.map(({ method, url, headers, body }) => ({
      ...{ method, url, body },
      target: headers['x-amz-target'],
      type: headers['content-type'],
      scope: headers.authorization?.match(/\d{8}(\/[^,]*),/)?.[1],
    }));
    return { outcome, requests };
  };
};

const connectBoth = () =>
  Promise.all([
    connect(createLocalDynamoClient),
    connect((endpoint) =>
      createSdkClient(createDocumentClient({ ...LOCAL_AWS, endpoint }), systemClock),
    ),
  ]);

test("a table on the router's client sends what it sends on AWS's SDK, and means the same by each answer", async () => {
  const [onOurs, onSdk] = await connectBoth();
  const script = fc.array(answers, { minLength: 1, maxLength: 3 });
  const outcomes = new Set<string>();
  await fc.assert(
    fc.asyncProperty(script, fc.string({ minLength: 1 }), plain, async (given, key, values) => {
      const write: Write = {
        set: values,
        remove: ['open'],
        conditions: [['closed', 'is present']],
      };
      for (const use of [
        (table: Table) => table.read(key),
        (table: Table) => table.apply(key, write),
      ]) {
        const expected = await onSdk(given, use);
        expect(await onOurs(given, use)).toEqual(expected);
        outcomes.add(JSON.stringify(Object.keys({ ...Object(expected.outcome) })));
      }
    }),
    { numRuns: share(150, 5) },
  );
  // Results, items and errors were all among them.
  expect(outcomes.size).toBeGreaterThan(3);
});

test("a query and a scan on the router's client read every page that they read on AWS's SDK", async () => {
  const [onOurs, onSdk] = await connectBoth();
  await fc.assert(
    fc.asyncProperty(pages, fc.string({ minLength: 1 }), async (given, value) => {
      const given200 = given.map((page, index): Answer => {
        const from = index < given.length - 1 && { LastEvaluatedKey: { pk: { S: `${index}` } } };
        return { status: 200, body: { ...page, ...from } };
      });
      for (const use of [
        (table: Table) => table.scan(),
        (table: Table) => listOf(table.range({ index: KEYS_BY_PROJECT, partition: value })),
      ]) {
        const expected = await onSdk(given200, use);
        expect(await onOurs(given200, use)).toEqual(expected);
        expect(expected.requests).toHaveLength(given.length);
      }
    }),
    { numRuns: 30 },
  );
});

test.each([
  ['a set', new Set(['a'])],
  ['bytes', new Uint8Array(1)],
  ['NaN', Number.NaN],
  ['a function', () => 1],
])('a value that no store writes is not sent to DynamoDB: %s', async (_, value) => {
  const server = await startMisbehaving((response) => response.end('{}'));
  const client = createLocalDynamoClient(server.url);
  onTestFinished(() => client.destroy());
  const input = { TableName: 'meters', Key: { pk: value }, ConsistentRead: true };
  await expect(client.call('GetItem', input)).rejects.toThrow(TypeError);
  expect(server.seen).toEqual([]);
});
