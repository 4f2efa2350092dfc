import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TABLE_NAMES } from '../../local/local-stores.ts';
import { type DynamoRouter, startOnDynamo } from '../support/dynamo-stores.ts';
import { LOCAL_AWS } from '../support/local-aws.ts';
import { sharedBundle } from '../support/shared-bundle.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { startCollector } from './collector.ts';

const folder = temporaryFolder('otlp-function');
let router: DynamoRouter;
let file: string;

beforeAll(async () => {
  router = await startOnDynamo();
  file = sharedBundle({ entry: 'lambdas/otlp.ts' }).file;
});
afterAll(() => router.close());

/** Every item of the table of records, as its stream tells of it. */
const readStream = async () => {
  const client = new DynamoDBClient({ ...LOCAL_AWS, endpoint: router.endpoints.dynamo });
  const { Items = [] } = await client.send(new ScanCommand({ TableName: TABLE_NAMES.records }));
  client.destroy();
  return Items.map((item, index) => ({
    eventName: 'INSERT',
    dynamodb: { SequenceNumber: String(index), Keys: item, NewImage: item },
  }));
};

let calls = 0;
/** Calls the shipped function in a process, as Lambda does with a batch of its stream. */
const callFunction = async (records: object[], endpoint: string) => {
  calls += 1;
  const event = join(folder, `event-${calls}.json`);
  writeFileSync(event, JSON.stringify({ Records: records }));
  const script = `require(${JSON.stringify(file)}).handler(require(${JSON.stringify(event)}))
    .catch((error) => { console.error(error.message); process.exitCode = 1; })`;
  const child = spawn(process.execPath, ['-e', script], {
    env: {
      ...{ STAGE: 'test', ENDPOINT: endpoint, HEADERS: 'none', VERSION: '1.2.3' },
      ...{ UPSTREAM_SECRET: 'upstreams', AWS_REGION: 'eu-central-1' },
      ...{ AWS_ACCESS_KEY_ID: 'AKID', AWS_SECRET_ACCESS_KEY: 'secret' },
    },
  });
  const [log, error, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit'),
  ]);
  return { log, error, code };
};

const ask = async (content: string, headers: Record<string, string> = {}) => {
  const response = await fetch(`${router.baseUrl}/v1/messages`, {
    method: 'POST',
    headers: { 'x-api-key': router.key, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({
      model: 'aurora/scribe-1',
      max_tokens: 50,
      messages: [{ role: 'user', content }],
    }),
  });
  await response.text();
  return response;
};

test('the shipped function exports what the stream of the records says, a repeated batch again with the same ids', async () => {
  const collector = await startCollector();
  await ask('say hello');
  await ask('fault status=500');
  const refused = await ask('x', { 'idempotency-key': 'ä' });
  expect(refused.status).toBe(400);
  await expect.poll(async () => (await readStream()).length).toBeGreaterThanOrEqual(3);
  const stream = await readStream();

  expect(await callFunction(stream, collector.url)).toMatchObject({ code: 0, error: '' });
  const spans = collector.requests();
  const outcomes = spans.map((span) => collector.attributesOf(span)['model_router.outcome']);
  expect(outcomes.toSorted()).toEqual(['failed', 'finished', 'refused']);
  expect(collector.total('model_router.requests')).toBe(2);
  expect(collector.total('model_router.charged_units')).toBe(1);

  const count = collector.spans().length;
  await callFunction(stream, collector.url);
  expect(collector.spans()).toHaveLength(count);
  const removals = stream.map(({ dynamodb: { Keys } }) => ({
    eventName: 'REMOVE',
    dynamodb: { Keys },
  }));
  expect(await callFunction(removals, collector.url)).toMatchObject({ code: 0, log: '' });
  expect(collector.faults).toEqual([]);
});

test('a later revision of a record corrects its span and adds to no metric', async () => {
  const collector = await startCollector();
  const [first] = (await readStream()).filter(({ dynamodb }) =>
    String(dynamodb.NewImage.entry?.S).includes('"finished"'),
  );
  if (!first) throw new Error('There is no record.');
  const later = { ...first.dynamodb.NewImage, revision: { N: '2' } };
  await callFunction(
    [{ ...first, dynamodb: { ...first.dynamodb, NewImage: later } }],
    collector.url,
  );
  expect(collector.requests()).toHaveLength(1);
  expect(collector.total('model_router.requests')).toBe(0);
});

test('tokens that were read from a cache, written to it, and spent on reasoning are attributes of a span', async () => {
  const collector = await startCollector();
  const tokens = { inputTokens: 100, cacheReadTokens: 20, cacheWriteTokens: 40 };
  const output = { outputTokens: 12, reasoningTokens: 7 };
  const changed = (await readStream()).map(({ dynamodb, ...rest }) => {
    const entry = JSON.parse(String(dynamodb.NewImage.entry?.S));
    const text = JSON.stringify({ ...entry, ...tokens, ...output });
    const image = { ...dynamodb.NewImage, entry: { S: text } };
    return { ...rest, dynamodb: { ...dynamodb, NewImage: image } };
  });
  expect(await callFunction(changed, collector.url)).toMatchObject({ code: 0, log: '' });
  const finished = collector
    .requests()
    .map((span) => collector.attributesOf(span))
    .find((attributes) => attributes['model_router.outcome'] === 'finished');
  expect(finished).toMatchObject({
    'gen_ai.usage.input_tokens': '100',
    'gen_ai.usage.cache_read.input_tokens': '20',
    'gen_ai.usage.cache_write.input_tokens': '40',
    'gen_ai.usage.output_tokens': '12',
    'gen_ai.usage.reasoning.output_tokens': '7',
  });
  expect(collector.faults).toEqual([]);
});

test('a record of a clock that is ahead, or was set back while the request ran, has a valid span', async () => {
  const collector = await startCollector();
  const DAY_MS = 86_400_000;
  const stream = await readStream();
  const changed = stream.map(({ dynamodb, ...rest }) => {
    const entry = JSON.parse(String(dynamodb.NewImage.entry?.S));
    const times = { startedAt: Date.now() + DAY_MS, ms: -5_000, firstContentMs: -4_000 };
    const image = { ...dynamodb.NewImage, entry: { S: JSON.stringify({ ...entry, ...times }) } };
    return { ...rest, dynamodb: { ...dynamodb, NewImage: image } };
  });
  expect(await callFunction(changed, collector.url)).toMatchObject({ code: 0, log: '' });
  expect(collector.faults).toEqual([]);
  expect(collector.requests().length).toBeGreaterThanOrEqual(3);
  for (const span of collector.requests()) {
    expect(Number(span.startTimeUnixNano) / 1e6).toBeGreaterThan(Date.now());
    expect(span.endTimeUnixNano).toBe(span.startTimeUnixNano);
  }
});

type Answer = Parameters<Awaited<ReturnType<typeof startCollector>>['answerWith']>[0];

// Two of them wait for the function's ten seconds.
test.concurrent.each<[string, Answer]>([
  ['a status of 503', (response) => response.writeHead(503).end()],
  ['a status of 401', (response) => response.writeHead(401).end()],
  ['another address', (response) => response.writeHead(307, { location: '/v2' }).end()],
  ['half of a response', (response) => response.write('{', () => response.destroy())],
  ['no byte', () => undefined],
  ['a head alone', (response) => response.flushHeaders()],
])(
  'a batch that the collector answers with %s fails, so that Lambda repeats it',
  async (_, answer) => {
    const collector = await startCollector();
    collector.answerWith(answer);
    const { code, log } = await callFunction(await readStream(), collector.url);
    expect(code).toBe(1);
    expect(log).toContain('"event":"otlp_unavailable"');
  },
);

test('a collector that answers slowly, or with what is not JSON, has taken the batch', async () => {
  const collector = await startCollector();
  collector.answerWith((response) => {
    response.write('<html>');
    setTimeout(() => response.end('</html>'), 2_000);
  });
  expect(await callFunction(await readStream(), collector.url)).toMatchObject({ code: 0, log: '' });
});

test('what a collector rejects for what it is is dropped, counted and logged, and the batch ends', async () => {
  const collector = await startCollector();
  collector.answerWith((response) => response.writeHead(400).end('no'));
  const { code, log } = await callFunction(await readStream(), collector.url);
  expect(code).toBe(0);
  expect(log).toContain('"event":"otlp_dropped"');
  collector.answerWith((response) => response.end('{"partialSuccess":{"rejectedSpans":"2"}}'));
  const partial = await callFunction(await readStream(), collector.url);
  expect(partial.log).toContain('"count":2');
});
