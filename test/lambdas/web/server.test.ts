import '../../../lambdas/web/lambda-runtime.ts';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import type { HttpRequest } from '../../../lambdas/http/read-event.ts';
import type { InvocationContext } from '../../../lambdas/http/stages.ts';
import { systemClock } from '../../../lambdas/support/clock.ts';
import { startServer } from '../../../lambdas/web/server.ts';
import { type Edge, startEdge } from '../../support/edge.ts';
import { openSocketsAt } from '../../support/open-sockets.ts';
import { send } from '../../support/send.ts';

const HOST = { port: 0, clock: systemClock, randomBytes };
const REQUEST_ID = /^req_[0-9A-Za-z]{24}$/;

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const { close } of opened.splice(0)) await close();
});

const startKeyed = async (): Promise<Edge> => {
  const edge = await startEdge();
  opened.push(edge);
  return edge;
};

/** Sends bytes as they are and returns all that comes back. */
const sendBytes = async (url: string, bytes: string | Uint8Array): Promise<string> => {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write(bytes);
  return text(socket);
};

/** Status and parsed body of the only answer in `raw`. */
const parse = (raw: string) => {
  const [head = '', body = ''] = raw.split('\r\n\r\n');
  return { status: Number(head.split(' ')[1]), head, body };
};

type Handle = (request: HttpRequest, context: InvocationContext) => unknown;

/** A server over a handler that answers 200 with the JSON of what `handle` makes of the request. */
const startHandler = async (handle: Handle) => {
  const server = await startServer({
    ...HOST,
    handler: async (request, stream, context) => {
      if (!('method' in request)) throw new Error('The server passed an event.');
      const prelude = { statusCode: 200, headers: { 'content-type': 'application/json' } };
      const answer = awslambda.HttpResponseStream.from(stream, prelude);
      answer.end(JSON.stringify((await handle(request, context)) ?? null));
    },
  });
  opened.push(server);
  return server;
};

describe('what is no HTTP request', () => {
  test.each([
    ['a bad request line', 'NONSENSE\r\n\r\n', 400],
    ['no host', 'GET / HTTP/1.1\r\n\r\n', 400],
    [
      'two lengths',
      'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n',
      400,
    ],
    [
      'a length and chunks',
      'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n',
      400,
    ],
    ['an expectation', 'GET / HTTP/1.1\r\nhost: a\r\nexpect: nothing\r\n\r\n', 417],
    ['a NUL in a header', 'GET / HTTP/1.1\r\nhost: a\r\nx-api-key: a\0b\r\n\r\n', 400],
    ['headers of 40 KB', `GET / HTTP/1.1\r\nhost: a\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`, 431],
    ['a tunnel', 'CONNECT a:443 HTTP/1.1\r\nhost: a:443\r\n\r\n', 405],
  ])('%s is rejected in the envelope, with ids', async (_, bytes, status) => {
    const { url } = await startHandler(() => ({}));
    const answer = parse(await sendBytes(url, bytes));
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.body).error.type).toBe('invalid_request_error');
    const ids = [...answer.head.matchAll(/^(?:x-)?request-id: (.*)$/gm)].map(([, id]) =>
      id?.trim(),
    );
    expect(ids).toEqual([expect.stringMatching(REQUEST_ID), ids[0]]);
  });

  test('a tunnel whose client resets or keeps its connection leaves neither error nor connection', async () => {
    const { url } = await startHandler(() => ({}));
    const { hostname, port } = new URL(url);
    const open = async () => {
      const options = { port: Number(port), host: hostname, allowHalfOpen: true };
      const socket = connect(options).on('error', () => undefined);
      await once(socket, 'connect');
      return socket;
    };
    const bytes = `CONNECT a:443 HTTP/1.1\r\nhost: a:443\r\n\r\n${'x'.repeat(100_000)}`;
    const kept = await open();
    kept.resume().write(bytes);
    for (let turn = 0; turn < 20; turn += 1) {
      const socket = await open();
      socket.write(bytes);
      await setImmediate();
      socket.resetAndDestroy();
    }
    await expect.poll(() => openSocketsAt(url)).toEqual([]);
    kept.destroy();
  });
});

test('bytes that are not HTTP neither end a response in flight nor get one', async () => {
  const server = await startServer({
    ...HOST,
    handler: async (_event, stream) => {
      const prelude = { statusCode: 200, headers: { 'content-type': 'text/plain' } };
      awslambda.HttpResponseStream.from(stream, prelude).write('one');
      await setImmediate();
      stream.end('two');
      await once(stream, 'close');
    },
  });
  opened.push(server);
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  // One write, so that the parser fails before the response has ended.
  socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\nNONSENSE\r\n\r\n');
  const raw = await text(socket);
  expect(raw.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200']);
  expect(raw).toContain('two');
});

describe('a request', () => {
  test('a request carries every value of a repeated header', async () => {
    const { url } = await startHandler(({ headers }) => headers);
    const raw = await sendBytes(
      url,
      'GET / HTTP/1.1\r\nhost: a\r\nAuthorization: A\r\nauthorization: B\r\nconnection: close\r\n\r\n',
    );
    expect(raw).toContain('"authorization":"A,B"');
  });

  test('two credentials in one kind of header are rejected', async () => {
    const { url, key } = await startKeyed();
    const raw = await sendBytes(
      url,
      `GET /v1/models HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${key}\r\nauthorization: Bearer ${key}\r\nconnection: close\r\n\r\n`,
    );
    expect(parse(raw).status).toBe(401);
  });

  test('a request has the path as sent, separate from the query, and the bytes of its body', async () => {
    const { url } = await startHandler(({ body, ...head }) => [head, Buffer.from(body).toJSON()]);
    const body = Uint8Array.of(0x7b, 0xff);
    const sent = await send(url, '/v1/../a%2Fb?x=%41&y', { method: 'POST', body });
    expect(JSON.parse(sent.text)).toMatchObject([
      { method: 'POST', path: '/v1/../a%2Fb', query: { x: 'A', y: '' }, source: '127.0.0.1' },
      { data: [0x7b, 0xff] },
    ]);
  });

  test('a whole address as the target is read as its path', async () => {
    const { url } = await startHandler(({ path }) => path);
    expect((await send(url, 'http://elsewhere/v1/models?x')).text).toBe('"/v1/models"');
  });

  test('a body over 6 MB never reaches the router, and one of as many escapes as bytes does', async () => {
    const { url, key } = await startKeyed();
    const headers = { 'content-type': 'application/json', 'x-api-key': key };
    const post = (body: string) => send(url, '/v1/messages', { method: 'POST', headers, body });
    const sent = await post('x'.repeat(6_291_457));
    expect(sent.status).toBe(413);
    expect(JSON.parse(sent.text)).toMatchObject({
      error: { message: 'The request is over 6 MB.' },
    });
    expect(sent.headers['x-request-id']).toMatch(REQUEST_ID);
    const escapes = '\\n'.repeat(2_700_000);
    expect((await post(`{"a":"${escapes}"}`)).status).toBe(200);
  });
});

describe('a response', () => {
  test('a handler that throws makes a 502 with ids', async () => {
    const server = await startServer({
      ...HOST,
      handler: () => Promise.reject(new Error('canary')),
    });
    opened.push(server);
    const sent = await send(server.url, '/');
    expect(sent.status).toBe(502);
    expect(sent.headers['request-id']).toMatch(REQUEST_ID);
    expect(sent.text).not.toContain('canary');
  });
});

test('a client that disconnects in mid-stream aborts the request', async () => {
  const aborted = Promise.withResolvers<void>();
  const server = await startServer({
    ...HOST,
    handler: async (_event, stream, { signal }) => {
      signal?.addEventListener('abort', () => aborted.resolve());
      Readable.from(['one']).pipe(stream, { end: false });
      await once(stream, 'close');
    },
  });
  opened.push(server);
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
  await once(socket, 'data');
  socket.destroy();
  await aborted.promise;
});

test('a connected client does not abort the request', async () => {
  let signal: AbortSignal | undefined;
  const { url, close } = await startHandler((_event, context) => {
    signal = context.signal;
    return context.getRemainingTimeInMillis?.();
  });
  const sent = await send(url, '/');
  expect(Number(sent.text)).toBeGreaterThan(890_000);
  expect(Number(sent.text)).toBeLessThanOrEqual(900_000);
  await close();
  opened.length = 0;
  expect(signal?.aborted).toBe(false);
});

test('closing does not wait for idle connections, and listening on a used port fails', async () => {
  const { url } = await startHandler(() => ({}));
  const { hostname, port } = new URL(url);
  const idle = connect(Number(port), hostname);
  await once(idle, 'connect');
  await expect(
    startServer({ ...HOST, port: Number(port), handler: () => Promise.resolve() }),
  ).rejects.toMatchObject({ code: 'EADDRINUSE' });
  await opened.pop()?.close();
  idle.destroy();
});
