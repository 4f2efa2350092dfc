import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import * as zlib from 'node:zlib';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Endpoint } from '../../../lambdas/endpoints/endpoint.ts';
import type { SseMessage } from '../../../lambdas/protocols/streams/sse.ts';
import { type Edge, startEdge } from '../../support/edge.ts';
import { functionUrlEvent } from '../../support/function-url-event.ts';
import { restApiEvent } from '../../support/rest-api-event.ts';

const MESSAGES = '/v1/messages';
const MIN_LENGTH = 1_024;
/** What `Z_SYNC_FLUSH` ends each write with. */
const FLUSHED = Buffer.from([0, 0, 0xff, 0xff]);

type ServerOptions = Parameters<typeof startEdge>[1];

const start = async (generate: Endpoint, server: ServerOptions = {}): Promise<Edge> => {
  const edge = await startEdge({ generate, listModels: generate }, server);
  onTestFinished(() => edge.close());
  return edge;
};

type Asked = { method?: string; path?: string; accepts?: string | undefined };

/** Opens a response; its body is as it was sent. */
const open = async ({ url, key }: Edge, { method = 'POST', path = MESSAGES, accepts }: Asked) => {
  const encoding = accepts === undefined ? {} : { 'accept-encoding': accepts };
  const headers = { 'x-api-key': key, ...encoding };
  const sent = request(`${url}${path}`, { method, headers, agent: false });
  sent.on('error', () => undefined).end(method === 'POST' ? '{}' : undefined);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.on('error', () => undefined);
  return { sent, response };
};

const read = async (edge: Edge, asked: Asked) => {
  const { response } = await open(edge, asked);
  const bytes = await buffer(response);
  const isGzip = response.headers['content-encoding'] === 'gzip';
  const text = (isGzip ? zlib.gunzipSync(bytes) : bytes).toString();
  return { status: response.statusCode, headers: response.headers, isGzip, bytes, text };
};

const data = (text: string): SseMessage => ({ data: JSON.stringify(text) });

const streaming =
  (messages: () => AsyncGenerator<SseMessage[], void, void>): Endpoint =>
  async () => ({ status: 200, messages: messages() });

const whole =
  (length: number): Endpoint =>
  async () => ({ status: 200, json: JSON.stringify('x'.repeat(length - 2)) });

const TWO = 'data: "one"\n\ndata: "two"\n\n';
const two = streaming(async function* () {
  yield [data('one')];
  yield [data('two')];
});

describe.each([
  ['a Function URL', functionUrlEvent],
  ['a REST API', restApiEvent],
  ['a Web Function', undefined],
])('behind %s', (_, toEvent) => {
  const server = toEvent && { toEvent };

  test.each([
    ['gzip, deflate', true],
    ['deflate,br , GZIP', true],
    ['br;q=1.0, gzip; q=0.8, *;q=0.1', true],
    ['gzip;q=0.5, identity;q=0.5', true],
    ['gzip;q=0.5, identity;q=0.8', false],
    ['gzip;q=0, *', false],
    ['gzip;q=yes', false],
    ['identity', false],
    ['not-gzip', false],
    ['*', false],
    ['', false],
    [undefined, false],
  ])(
    'a client that accepts %j gets a stream and a long response as gzip: %j',
    async (accepts, isGzip) => {
      const stream = await read(await start(two, server), { accepts });
      expect(stream).toMatchObject({ status: 200, isGzip, text: TWO });
      expect(stream.headers.vary).toBe('accept-encoding');
      const long = await read(await start(whole(MIN_LENGTH), server), { accepts });
      expect(long).toMatchObject({ status: 200, isGzip, text: `"${'x'.repeat(MIN_LENGTH - 2)}"` });
      expect(long.headers.vary).toBe('accept-encoding');
    },
  );
});

test.each([
  ['a response under 1 KB', { path: MESSAGES }, MIN_LENGTH - 1],
  ['a HEAD', { path: '/v1/models', method: 'HEAD' }, 5_000],
  ['an OPTIONS', { path: MESSAGES, method: 'OPTIONS' }, 5_000],
  ['an error', { path: '/v1/nothing' }, 5_000],
])('%s is not compressed', async (_, asked, length) => {
  const { headers } = await read(await start(whole(length)), { ...asked, accepts: 'gzip' });
  expect(headers).not.toHaveProperty('content-encoding');
});

test('a reply that also depends on the origin names both headers', async () => {
  const edge = await startEdge({ generate: two }, {}, { corsOrigins: ['https://app.example'] });
  onTestFinished(() => edge.close());
  const { headers } = await read(edge, { accepts: 'gzip' });
  expect(headers.vary).toBe('accept-encoding, origin');
});

test('each event, and each heartbeat, can be decoded before the next one is made', async () => {
  const gates = Array.from({ length: 5 }, () => Promise.withResolvers<void>());
  const edge = await start(
    streaming(async function* () {
      for (const [index, { promise }] of gates.entries()) {
        yield [index === 2 ? { comment: 'waiting' } : data(`event ${index}`)];
        await promise;
      }
    }),
  );
  const { response } = await open(edge, { accepts: 'gzip' });
  const decoder = zlib.createGunzip();
  let text = '';
  let last: Buffer = Buffer.alloc(0);
  decoder.on('data', (piece: Buffer) => {
    text += piece.toString();
  });
  response.on('data', (piece: Buffer) => {
    last = piece;
    decoder.write(piece);
  });
  for (const [index, { resolve }] of gates.entries()) {
    const event = index === 2 ? ': waiting\n\n' : `data: "event ${index}"\n\n`;
    await expect.poll(() => text).toContain(event);
    expect(text.endsWith(event)).toBe(true);
    expect(last.subarray(-4)).toEqual(FLUSHED);
    resolve();
  }
});

test('a compressed stream that throws although it must not ends with an error event and is whole', async () => {
  const edge = await start(
    streaming(async function* () {
      yield [data('one')];
      throw new Error('canary-cause');
    }),
  );
  const { isGzip, text } = await read(edge, { accepts: 'gzip' });
  expect(isGzip).toBe(true);
  expect(text).toMatch(/^data: "one"\n\nevent: error\n/);
});

test('a compressed stream whose server is closed lacks its end', async () => {
  const edge = await startEdge({
    generate: streaming(async function* () {
      yield [data('one')];
      await new Promise(() => undefined);
    }),
  });
  const { response } = await open(edge, { accepts: 'gzip' });
  const pieces: Buffer[] = [];
  response.on('data', (piece: Buffer) => pieces.push(piece));
  await expect.poll(() => Buffer.concat(pieces).subarray(-4)).toEqual(FLUSHED);
  const closed = new Promise((resolve) => response.once('close', resolve));
  await edge.close();
  await closed;
  expect(response.complete).toBe(false);
  expect(() => zlib.gunzipSync(Buffer.concat(pieces))).toThrow('unexpected end of file');
});

test('a client that stops reading holds a compressed stream back, and ends it when it disconnects', async () => {
  const ended = Promise.withResolvers<void>();
  let made = 0;
  const noise = () => Array.from({ length: 8_000 }, () => Math.random().toString(36)).join('');
  const edge = await start(
    streaming(async function* () {
      try {
        for (; ; made += 1) yield [data(noise())];
      } finally {
        ended.resolve();
      }
    }),
  );
  const { sent, response } = await open(edge, { accepts: 'gzip' });
  response.pause();
  await expect
    .poll(
      async () => {
        const before = made;
        await new Promise((resolve) => setTimeout(resolve, 200));
        return made - before;
      },
      { timeout: 20_000 },
    )
    .toBe(0);
  expect(made).toBeLessThan(1_000);
  sent.destroy();
  await ended.promise;
});

test('the compressor of a disconnected client is closed, which has 260 KB outside of the heap until then', async () => {
  const close = vi.spyOn(zlib.Gzip.prototype, '_destroy');
  onTestFinished(() => close.mockRestore());
  let ended = 0;
  const edge = await start(
    streaming(async function* () {
      try {
        for (;;) {
          yield [data('word')];
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
      } finally {
        ended += 1;
      }
    }),
  );
  const leave = async () => {
    const { sent, response } = await open(edge, { accepts: 'gzip' });
    await once(response, 'data');
    return () => sent.destroy();
  };
  const COUNT = 100;
  const opened = await Promise.all(Array.from({ length: COUNT }, leave));
  expect(close).not.toHaveBeenCalled();
  for (const disconnect of opened) disconnect();
  await expect.poll(() => ended).toBe(COUNT);
  await expect.poll(() => new Set(close.mock.contexts).size).toBe(COUNT);
});
