import { gunzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type DynamoRouter, startOnDynamo } from '../support/dynamo-stores.ts';
import { MODEL_ON } from '../support/local.ts';
import { seriesIn } from '../support/metrics.ts';
import { functionUrl, restApi } from './events.ts';
import { installRuntimeClient } from './install-runtime-client.ts';
import { bundleFor, type RunningFunction, startFunction } from './start-function.ts';

const CHAT = '/v1/chat/completions';
const MESSAGES = '/v1/messages';

const client = installRuntimeClient();
const missing = 'missing' in client ? client.missing : undefined;
if (missing !== undefined) {
  process.stderr.write(`Not run: test/runtime. aws-lambda-ric is not installed: ${missing}\n`);
}
const entry = 'entry' in client ? client.entry : '';

const doors = [
  ['a Function URL', functionUrl],
  ['a REST API', restApi],
] as const;

describe.skipIf(missing !== undefined)("the shipped bundle under AWS's runtime client", () => {
  let local: DynamoRouter;
  let shipped: ReturnType<typeof bundleFor>;
  let running: RunningFunction;

  beforeAll(async () => {
    local = await startOnDynamo();
    shipped = bundleFor(local);
    const { folder } = shipped;
    running = await startFunction({ client: entry, folder, endpoints: local.endpoints });
  });
  afterEach(() => local.upstreams.reset());
  afterAll(async () => {
    await running?.stop();
    shipped?.remove();
    await local?.close();
  });

  const question = (body: Record<string, unknown> = {}) => ({
    key: local.key,
    body: {
      model: MODEL_ON.chat,
      max_tokens: 100,
      messages: [{ role: 'user', content: 'hello' }],
      ...body,
    },
  });

  /** No invocation was lost, nothing was reported as an error, and it is still the first process. */
  const expectAlive = async () => {
    const { head, text } = running.invoke(functionUrl('/', { method: 'GET' }));
    expect((await head).statusCode).toBe(200);
    await text;
    expect(running.child.exitCode).toBeNull();
    expect(running.errors).toEqual([]);
  };

  test.each(doors)('the Lambda function answers a probe through %s', async (_, event) => {
    const { head, text } = running.invoke(event('/', { method: 'GET' }));
    expect(await head).toMatchObject({
      statusCode: 200,
      headers: { 'x-request-id': expect.stringMatching(/^req_/) },
    });
    expect(JSON.parse(await text)).toMatchObject({ service: 'model-router' });
  });

  test.each(doors)(
    'the Lambda function streams chat through %s in many pieces',
    async (_, event) => {
      // Far enough apart that a busy machine reads them one by one.
      local.upstreams.inject({ fault: { kind: 'slow', ms: 50 } });
      const { head, text, pieces } = running.invoke(event(CHAT, question({ stream: true })));
      expect(await head).toMatchObject({
        statusCode: 200,
        headers: { 'content-type': 'text/event-stream; charset=utf-8' },
      });
      expect(await text).toMatch(/data: \[DONE\]\n\n$/);
      expect(pieces.length).toBeGreaterThan(3);
    },
  );

  test.each(doors)('the Lambda function streams messages through %s', async (_, event) => {
    const { head, text } = running.invoke(event(MESSAGES, question({ stream: true })));
    expect((await head).statusCode).toBe(200);
    expect(await text).toMatch(/^event: message_start\n[\s\S]*event: message_stop\n.*\n\n$/);
  });

  test.each(doors)(
    'the Lambda function sends gzip through %s, an event a chunk, and survives a break in mid-stream',
    async (_, event) => {
      const asked = { ...question({ stream: true }), acceptsGzip: true };
      local.upstreams.inject({ fault: { kind: 'slow', ms: 10 }, times: 1 });
      const whole = running.invoke(event(CHAT, asked));
      const { headers } = await whole.head;
      expect(headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept-encoding' });
      await whole.text;
      expect(gunzipSync(Buffer.concat(whole.chunks)).toString()).toMatch(/data: \[DONE\]\n\n$/);
      // What gzip ends each flush with; a busy machine reads several chunks at once.
      const flushes = Buffer.concat(whole.chunks).toString('latin1').split('\0\0\xff\xff');
      expect(flushes.length).toBeGreaterThan(4);
      local.upstreams.inject({ fault: { kind: 'truncate', after: 4 } });
      const broken = running.invoke(event(CHAT, asked));
      await broken.text;
      expect(gunzipSync(Buffer.concat(broken.chunks)).toString()).toMatch(
        /"error":\{[^}]*\}\}\n\n$/,
      );
      await expectAlive();
    },
  );

  test('a Lambda stream sends events as they arrive and ends at the deadline', async () => {
    local.upstreams.inject({ fault: { kind: 'stall', after: 3 } });
    // Ten seconds are kept back for the end, so four are left: on a busy machine the first words may need one.
    const invocation = running.invoke(functionUrl(CHAT, question({ stream: true })), {
      remainingMs: 14_000,
    });
    expect(await invocation.has('"content":"')).not.toContain('[DONE]');
    const whole = await invocation.text;
    expect(whole).toContain('"finish_reason":"length"');
    expect(whole).toMatch(/data: \[DONE\]\n\n$/);
    await expectAlive();
  });

  test('a failure before the first byte has a status and an error envelope', async () => {
    const refused = running.invoke(functionUrl(MESSAGES, { body: {} }));
    expect((await refused.head).statusCode).toBe(401);
    expect(JSON.parse(await refused.text)).toMatchObject({
      type: 'error',
      error: { type: 'authentication_error' },
    });

    local.upstreams.inject({ fault: { kind: 'status', status: 500 } });
    const failed = running.invoke(restApi(CHAT, question({ stream: true })));
    expect((await failed.head).statusCode).toBe(502);
    expect(JSON.parse(await failed.text)).toMatchObject({ error: { type: 'api_error' } });
    await expectAlive();
  });

  test.each([
    [CHAT, /"error":\{"type":"api_error"/],
    [MESSAGES, /event: error\n/],
  ])(
    'the Lambda function survives an upstream that breaks off in mid-stream: %s',
    async (path, told) => {
      local.upstreams.inject({ fault: { kind: 'truncate', after: 4 } });
      const { head, text } = running.invoke(functionUrl(path, question({ stream: true })));
      expect((await head).statusCode).toBe(200);
      const whole = await text;
      expect(whole).toMatch(told);
      expect(whole).not.toContain('[DONE]');
      await expectAlive();
    },
  );

  test('three requests in one Lambda process get distinct request ids', async () => {
    const ids = new Set<string | undefined>();
    for (const stream of [true, false, true]) {
      const { head, text } = running.invoke(functionUrl(CHAT, question({ stream })));
      const { statusCode, headers } = await head;
      await text;
      expect(statusCode).toBe(200);
      ids.add(headers['x-request-id']);
    }
    expect(ids.size).toBe(3);
    await expectAlive();
  });

  test('the Lambda runtime passes log lines and metrics through unchanged', async () => {
    const { head, text } = running.invoke(functionUrl(CHAT, question()));
    const { headers } = await head;
    await text;
    await expectAlive();
    const printed = running.lines().map((line): Record<string, unknown> => JSON.parse(line));
    expect(printed).toContainEqual(
      expect.objectContaining({
        event: 'request',
        requestId: headers['x-request-id'],
        status: 200,
      }),
    );
    expect(seriesIn(running.lines())['Requests{Stage=test}']).toBeGreaterThan(0);
    expect(running.lines().join()).not.toContain(local.key);
  });

  test('an environment with concurrency 10 answers ten requests at once', async () => {
    const { folder } = shipped;
    const env = { AWS_LAMBDA_MAX_CONCURRENCY: '10', AWS_LAMBDA_NODEJS_WORKER_COUNT: '1' };
    const many = await startFunction({ client: entry, folder, endpoints: local.endpoints, env });
    try {
      const answers = Array.from({ length: 10 }, (_, at) =>
        many.invoke(
          functionUrl(
            CHAT,
            question({ stream: true, messages: [{ role: 'user', content: `say number ${at}.` }] }),
          ),
        ),
      );
      const texts = await Promise.all(answers.map(({ text }) => text));
      const said = texts.map((text) =>
        [...text.matchAll(/"content":"([^"]*)"/g)].map(([, part]) => part).join(''),
      );
      expect(said).toEqual(answers.map((_, at) => `number ${at}.`));
    } finally {
      await many.stop();
    }
  });
});
