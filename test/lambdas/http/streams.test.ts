import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import type { Endpoint } from '../../../lambdas/endpoints/endpoint.ts';
import type { GenerationEvent } from '../../../lambdas/protocols/generation.ts';
import type { SseMessage } from '../../../lambdas/protocols/streams/sse.ts';
import { suffixOf } from '../../../lambdas/support/ids.ts';
import { type Edge, startEdge } from '../../support/edge.ts';
import { assertResponsesStream } from '../../support/responses-stream.ts';
import { send } from '../../support/send.ts';
import { readSse } from '../../support/sse-text.ts';
import { requestOf } from '../../support/translate.ts';

const data = (text: string): SseMessage => ({ data: JSON.stringify(text) });

const start = async (generate: Endpoint): Promise<Edge> => {
  const edge = await startEdge({ generate, respond: generate });
  onTestFinished(() => edge.close());
  return edge;
};

const streaming =
  (messages: () => AsyncGenerator<SseMessage[], void, void>): Endpoint =>
  async (call) => {
    call.note({ model: 'vendor/model' });
    return { status: 200, headers: { 'x-quota-limit': '10' }, messages: messages() };
  };

const post = (edge: Edge, path = '/v1/chat/completions') =>
  send(edge.url, path, { method: 'POST', headers: { 'x-api-key': edge.key }, body: '{}' });

const requestLines = (edge: Edge) => edge.lines.filter(({ event }) => event === 'request');

/** Opens the stream and returns it with the means to leave. */
const open = async ({ url, key }: Edge) => {
  const sent = request(`${url}/v1/messages`, { method: 'POST', headers: { 'x-api-key': key } });
  sent.on('error', () => undefined).end('{}');
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.on('error', () => undefined);
  return { sent, response };
};

test('a stream goes out batch by batch, with headers that keep proxies from holding it back', async () => {
  const edge = await start(
    streaming(async function* () {
      yield [data('one'), { comment: 'waiting' }];
      yield [];
      yield [{ event: 'ping', data: '{}' }];
    }),
  );
  const sent = await post(edge);
  expect(sent.status).toBe(200);
  expect(sent.headers).toMatchObject({
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
    'x-quota-limit': '10',
    'x-request-id': expect.stringMatching(/^req_/),
  });
  expect(sent.text).toBe('data: "one"\n\n: waiting\n\nevent: ping\ndata: {}\n\n');
});

test('a batch arrives while the next one is still being made', async () => {
  const gate = Promise.withResolvers<void>();
  const edge = await start(
    streaming(async function* () {
      yield [data('first')];
      await gate.promise;
      yield [data('last')];
    }),
  );
  const { response } = await open(edge);
  const [first]: [Buffer] = (await once(response, 'data')) as [Buffer];
  expect(first.toString()).toBe('data: "first"\n\n');
  expect(requestLines(edge)).toEqual([]);
  gate.resolve();
  const [last]: [Buffer] = (await once(response, 'data')) as [Buffer];
  expect(last.toString()).toBe('data: "last"\n\n');
});

test('the log line of a stream is written at its end, with what the endpoint noted', async () => {
  const edge = await start(
    streaming(async function* () {
      yield [data('one')];
    }),
  );
  const { headers } = await post(edge);
  expect(requestLines(edge)).toEqual([
    {
      level: 'info',
      event: 'request',
      requestId: headers['x-request-id'],
      method: 'POST',
      route: '/v1/chat/completions',
      status: 200,
      ms: expect.any(Number),
      keyId: expect.stringMatching(/^key_/),
      projectId: 'project',
      model: 'vendor/model',
    },
  ]);
});

test.each([
  ['/v1/chat/completions', 'event: error\n'],
  ['/v1/messages', 'event: error\n'],
])(
  'a stream that throws although it must not ends with an error event on %s',
  async (path, tail) => {
    const edge = await start(
      streaming(async function* () {
        yield [data('one')];
        throw new Error('canary-cause');
      }),
    );
    const sent = await post(edge, path);
    expect(sent.text).toContain('data: "one"');
    expect(sent.text).toContain(tail);
    expect(sent.text + edge.logText()).not.toContain('canary');
    expect(edge.lines).toContainEqual(
      expect.objectContaining({ event: 'stream_failed', failure: 'Error' }),
    );
    expect((await post(edge, path)).status).toBe(200);
  },
);

test('a stream of the responses protocol that throws although it must not continues its sequence numbers', async () => {
  const edge = await start(async ({ protocol, requestId }) => {
    const times = { created: 1, now: () => 1 };
    const meta = { id: suffixOf(requestId), model: 'm', ...times, estimateInput: () => 1 };
    const { push } = protocol.streamEncoder(requestOf('responses'), meta);
    const batches: GenerationEvent[][] = [
      [{ type: 'start' }, { type: 'block-start', index: 0, block: { type: 'text' } }],
      [{ type: 'block-delta', index: 0, delta: 'It has "sequence_number":9}\n' }],
    ];
    const messages = async function* () {
      for (const batch of batches) yield batch.flatMap(push);
      yield [protocol.heartbeat];
      throw new Error('canary-cause');
    };
    return { status: 200, messages: messages() };
  });
  const { text } = await post(edge, '/v1/responses');
  expect(assertResponsesStream(readSse(text))).toMatchObject({ isError: true });
  expect(text).toContain(': waiting');
});

test('a client that leaves ends the stream, and the line is written', async () => {
  const ended = Promise.withResolvers<void>();
  const left = Promise.withResolvers<void>();
  const edge = await start(async (call) => ({
    status: 200,
    messages: (async function* () {
      try {
        yield [data('one')];
        call.signal.addEventListener('abort', () => left.resolve());
        await left.promise;
        yield [data('two')];
      } finally {
        ended.resolve();
      }
    })(),
  }));
  const { sent } = await open(edge);
  sent.destroy();
  await ended.promise;
  await expect.poll(() => requestLines(edge).length).toBe(1);
});

test('a client that is gone before the first batch still has its stream ended', async () => {
  const ended = Promise.withResolvers<void>();
  const called = Promise.withResolvers<void>();
  const edge = await start(async (call) => {
    const left = new Promise((resolve) => {
      call.signal.addEventListener('abort', resolve);
    });
    called.resolve();
    await left;
    return {
      status: 200,
      messages: (async function* () {
        try {
          yield [data('one')];
        } finally {
          ended.resolve();
        }
      })(),
    };
  });
  const sent = request(`${edge.url}/v1/messages`, {
    method: 'POST',
    headers: { 'x-api-key': edge.key },
  });
  sent.on('error', () => undefined).end('{}');
  await called.promise;
  sent.destroy();
  await ended.promise;
  await expect.poll(() => requestLines(edge).length).toBe(1);
});
