import { getEventListeners } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { createHttpConnections } from '../../../lambdas/http-client/connections.ts';
import { type Post, type PostOptions, post } from '../../../lambdas/upstreams/post.ts';
import { createCountingClock } from '../../support/counting-clock.ts';
import { rejection } from '../../support/error-of.ts';
import { OK, startRawServer } from '../http-client/raw-server.ts';

/** A server that notes each packet and answers as the test says, and posts to it. */
const setUp = async (answer = OK) => {
  const packets: string[] = [];
  const server = await startRawServer((socket, text) => {
    packets.push(text);
    socket.write(answer);
  });
  const clock = createCountingClock(0);
  const caller = new AbortController();
  const connections = createHttpConnections(server.origin, { clock, connectMs: 3_000 });
  onTestFinished(connections.destroy);
  const send = (options: Partial<PostOptions> = {}) =>
    post({
      ...{ url: server.origin, headers: {}, body: Buffer.from('{}') },
      ...{ connections, clock, signal: caller.signal },
      ...options,
    });
  return { packets, server, clock, caller, send };
};

/** Leaves an idle connection. */
const readWhole = async ({ response, close }: Post): Promise<void> => {
  const { chunks } = await response;
  while (!(await chunks.next()).done);
  close();
};

test("a target's header in any case replaces the protocol's, and none frames the request", async () => {
  const { packets, send } = await setUp();
  const headers = {
    authorization: 'Bearer secret',
    ...{ Authorization: 'Basic other', 'CONTENT-length': '1', Connection: 'close' },
    ...{ 'Transfer-Encoding': 'chunked', 'X-Team': 'a' },
  };
  await send({ headers }).response;
  const [host = '', ...lines] = packets.join('').split('\r\n').slice(1);
  expect(host).toMatch(/^host: 127\.0\.0\.1:\d+$/);
  expect(lines).toEqual([
    ...['authorization: Basic other', 'content-length: 2', 'x-team: a', 'connection: keep-alive'],
    ...['', '{}'],
  ]);
});

test('the credentials in a URL are sent, unless a header replaces them', async () => {
  const { packets, server, send } = await setUp();
  const url = new URL(server.origin);
  Object.assign(url, { username: 'a', password: 'p@ss' });
  await send({ url }).response;
  await send({ url, headers: { Authorization: 'Bearer b' } }).response;
  expect(packets.map((text) => /authorization: (.*)\r/.exec(text)?.[1])).toEqual([
    `Basic ${btoa('a:p@ss')}`,
    'Bearer b',
  ]);
});

test('a request whose client has disconnected is not sent, not even on an idle connection', async () => {
  const { packets, caller, send } = await setUp();
  await readWhole(send());
  caller.abort();
  expect(await rejection(send().response)).toMatchObject({ kind: 'aborted' });
  expect(packets).toHaveLength(1);
});

test.each([
  ['an interim response', 'HTTP/1.1 100 Continue\r\n\r\n'],
  ['half a head', 'HTTP/1.1 200 OK\r\ncontent-'],
])('a request that got %s on a kept connection is not sent again', async (_, begun) => {
  const { packets, server, send } = await setUp();
  await readWhole(send());
  server.sockets[0]?.removeAllListeners('data').on('data', (bytes) => {
    packets.push(String(bytes));
    server.sockets[0]?.end(begun);
  });
  expect(await rejection(send().response)).toMatchObject({ kind: 'reset' });
  expect(packets).toHaveLength(2);
});

test('a server that accepts no other connection after a stale one is unreachable', async () => {
  const { server, clock, send } = await setUp();
  await readWhole(send());
  const [socket] = server.sockets;
  socket?.removeAllListeners('data').once('data', () => {
    server.stopListening();
    socket.resetAndDestroy();
  });
  expect(await rejection(send().response)).toMatchObject({ kind: 'connect' });
  await expect.poll(clock.waits).toEqual([]);
});

test('a closed request ends the read that waits for it', async () => {
  const { server, send } = await setUp('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok');
  const sent = send();
  const { chunks } = await sent.response;
  expect(String((await chunks.next()).value)).toBe('ok');
  const waiting = rejection(chunks.next() as Promise<unknown>);
  sent.close();
  expect(await waiting).toMatchObject({ kind: 'aborted' });
  await expect.poll(server.open).toBe(0);
});

test('a header that cannot be sent is an error that leaves nothing behind', async () => {
  const { packets, caller, clock, send } = await setUp();
  expect(() => send({ headers: { 'x-key': 'a\r\nb: c' } })).toThrow('cannot be sent');
  expect(() => send({ headers: { 'x y': 'a' } })).toThrow('cannot be sent');
  expect([packets, clock.waits(), getEventListeners(caller.signal, 'abort')]).toEqual([[], [], []]);
});
